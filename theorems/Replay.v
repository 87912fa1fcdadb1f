(** * Points: an algorithm is replayed, so it exists *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool Permutation FMapPositive.
From Syncoll Require Import Definitions Sums Paths Prices Shares Certificates.
Import ListNotations.

(** ** The chunks of a collective, in the order of its classes *)

Section Chunks.
  Variable k : collective.

  Definition copies_of (C : N) (c : chunk * N) : option (list chunk) :=
    let all := (snd c * C)%N in
    if (all mod per k =? 0)%N then Some (repeat (fst c) (N.to_nat (all / per k))) else None.

  Definition chunks_for (C : N) : option (list chunk) :=
    match all_some (map (copies_of C) (classes k)) with Some l => Some (concat l) | None => None end.

  Lemma count_repeat x y n : count_occ chunk_eq (repeat x n) y = if chunk_eq x y then n else O.
  Proof.
    induction n as [|n IH]; cbn; destruct (chunk_eq x y); congruence.
  Qed.

  Lemma chunks_for_sound C l : well_formed k = true -> chunks_for C = Some l -> is_instance k C l.
  Proof.
    intros Hf H. pose proof (formed_per k Hf) as Hper. pose proof (formed_distinct k Hf) as Hd.
    unfold chunks_for in H. destruct (all_some _) as [ls|] eqn:E; [|discriminate].
    injection H as <-. unfold is_instance. clear Hf. revert ls E Hd.
    induction (classes k) as [|[x n] cs IH]; intros ls E Hd.
    - cbn in E. injection E as <-. split; [intros ? []|intros ? ? []].
    - cbn in E. destruct (copies_of C (x, n)) as [own|] eqn:Eo; [|discriminate].
      destruct (all_some (map (copies_of C) cs)) as [ls'|]; [|discriminate]. injection E as <-.
      cbn in Hd. inversion_clear Hd as [|? ? Hx Hd']. destruct (IH ls' eq_refl Hd') as [H1 H2].
      unfold copies_of in Eo. cbn [fst snd] in Eo.
      destruct (N.eqb_spec ((n * C) mod per k) 0) as [Em|]; [|discriminate]. injection Eo as <-.
      cbn [concat]. split.
      + intros y Hy. apply in_app_or in Hy as [Hy|Hy].
        * apply repeat_spec in Hy as ->. exists n. left. reflexivity.
        * destruct (H1 y Hy) as [q Hq]. exists q. right. exact Hq.
      + intros y q [Hy|Hy]; rewrite count_occ_app, count_repeat.
        * injection Hy as -> ->. destruct (chunk_eq y y) as [_|]; [|congruence].
          assert (count_occ chunk_eq (concat ls') y = O) as ->.
          { apply count_occ_not_In. intros Hin. destruct (H1 y Hin) as [q' Hq']. apply Hx.
            apply in_map_iff. exists (y, q'). auto. }
          rewrite Nat.add_0_r, N2Nat.id.
          rewrite (N.div_mod (q * C) (per k)) at 2 by lia. rewrite Em. lia.
        * destruct (chunk_eq x y) as [->|_]; [|exact (H2 y q Hy)].
          exfalso. apply Hx, in_map_iff. exists (y, q). auto.
  Qed.
End Chunks.

(** ** What nodes hold: a value for each chunk and node *)

Section Held.
  Context {A : Type}.
  Definition held := PositiveMap.t (PositiveMap.t A).

  Definition look (h : held) (c : N) (n : node) : option A :=
    match PositiveMap.find (N.succ_pos c) h with
    | Some own => PositiveMap.find (N.succ_pos n) own
    | None => None
    end.

  Definition keep (c : N) (n : node) (v : A) (h : held) : held :=
    let own := match PositiveMap.find (N.succ_pos c) h with
               | Some own => own | None => PositiveMap.empty A end in
    PositiveMap.add (N.succ_pos c) (PositiveMap.add (N.succ_pos n) v own) h.

  Lemma look_keep c n v h c' n' : look (keep c n v h) c' n' = Some v /\ c = c' /\ n = n' \/
    look (keep c n v h) c' n' = look h c' n'.
  Proof.
    unfold look, keep. destruct (N.eq_dec c c') as [<-|Hc].
    - rewrite PositiveMap.gss. destruct (N.eq_dec n n') as [<-|Hn].
      + rewrite PositiveMap.gss. auto.
      + right. rewrite PositiveMap.gso by (intros E; apply Hn; symmetry; apply succ_pos_inj, E).
        destruct (PositiveMap.find (N.succ_pos c) h); [reflexivity|apply PositiveMap.gempty].
    - right. rewrite PositiveMap.gso by (intros E; apply Hc; symmetry; apply succ_pos_inj, E).
      reflexivity.
  Qed.

  Lemma look_nothing c n : look (PositiveMap.empty _) c n = None.
  Proof. unfold look. rewrite PositiveMap.gempty. reflexivity. Qed.
End Held.
Arguments held : clear implicits.

(** ** Sums are formed from disjoint ones: a search for parts, each contribution once *)

Fixpoint remove_one (v : node) (l : list node) : option (list node) :=
  match l with
  | [] => None
  | w :: l' => if (v =? w)%N then Some l' else
      match remove_one v l' with Some r => Some (w :: r) | None => None end
  end.

Fixpoint take_out (part rest : list node) : option (list node) :=
  match part with
  | [] => Some rest
  | v :: part' => match remove_one v rest with Some r => take_out part' r | None => None end
  end.

Fixpoint any {A} (p : A -> bool) (l : list A) : bool :=
  match l with [] => false | x :: l' => if p x then true else any p l' end.

Fixpoint covers (fuel : nat) (sums : list (list node)) (rest : list node) : bool :=
  match rest, fuel with
  | [], _ => true
  | _, O => false
  | v :: _, S fuel' =>
      any (fun part => if mem v part then
        match take_out part rest with Some r => covers fuel' sums r | None => false end
        else false) sums
  end.

Lemma remove_one_sound v l r : remove_one v l = Some r -> Permutation (v :: r) l.
Proof.
  revert r. induction l as [|w l IH]; cbn; intros r H; [discriminate|].
  destruct (N.eqb_spec v w) as [->|]; [injection H as <-; reflexivity|].
  destruct (remove_one v l) as [r'|]; [|discriminate]. injection H as <-.
  rewrite perm_swap. constructor. apply IH. reflexivity.
Qed.

Lemma take_out_sound part rest r : take_out part rest = Some r -> Permutation (part ++ r) rest.
Proof.
  revert rest. induction part as [|v part IH]; cbn; intros rest H; [injection H as <-; reflexivity|].
  destruct (remove_one v rest) as [r'|] eqn:E; [|discriminate].
  apply remove_one_sound in E. rewrite <- E. constructor. apply IH, H.
Qed.

Lemma any_true {A} (p : A -> bool) l : any p l = true -> exists x, In x l /\ p x = true.
Proof.
  induction l as [|x l IH]; cbn; intros H; [discriminate|].
  destruct (p x) eqn:E; [exists x; auto|]. destruct (IH H) as [y [Hy Hp]]. exists y. auto.
Qed.

Lemma covers_sound fuel sums rest : covers fuel sums rest = true ->
  exists parts, (forall Y, In Y parts -> In Y sums) /\ Permutation (concat parts) rest.
Proof.
  revert rest. induction fuel as [|fuel IH]; intros [|v rest] H; cbn in H; try discriminate;
    try (exists []; split; [intros ? []|reflexivity]).
  apply any_true in H as [part [Hin H]]. destruct (mem v part); [|discriminate].
  destruct (take_out part (v :: rest)) as [r|] eqn:E; [|discriminate].
  destruct (IH r H) as [parts [Hp Hperm]]. exists (part :: parts). split.
  - intros Y [<-|HY]; auto.
  - cbn [concat]. rewrite Hperm. apply take_out_sound, E.
Qed.

(** ** The replay *)

Section Replay.
  Variables (m : machine) (k : collective) (chunks : list chunk).
  Variables (all_rounds : list Q) (groups : list (list (list send))). (* the arrivals of each step *)

  Definition replayed : algorithm := Algorithm all_rounds (concat groups).

  (** Starts with [pre]: [own n] is the value of node n. *)
  Fixpoint starting {A} (own : node -> A) (xs : list chunk) (c : N) : held A :=
    match xs with
    | [] => PositiveMap.empty _
    | x :: xs' => fold_right (fun n h => keep c n (own n) h) (starting own xs' (N.succ c)) (pre x)
    end.

  Lemma starting_sound {A} (own : node -> A) xs c0 c n v :
    look (starting own xs c0) c n = Some v ->
    v = own n /\ exists i x, c = (c0 + N.of_nat i)%N /\ nth_error xs i = Some x /\ In n (pre x).
  Proof.
    revert c0. induction xs as [|x xs IH]; cbn [starting]; intros c0 H.
    - rewrite look_nothing in H. discriminate.
    - assert (G : forall ns, (forall n, In n ns -> In n (pre x)) ->
        look (fold_right (fun n h => keep c0 n (own n) h) (starting own xs (N.succ c0)) ns) c n
          = Some v ->
        v = own n /\ exists i y, c = (c0 + N.of_nat i)%N /\ nth_error (x :: xs) i = Some y /\
          In n (pre y)).
      { induction ns as [|n' ns IHn]; cbn [fold_right]; intros Hin Hl.
        - destruct (IH _ Hl) as [Hv [i [y [Hc [Hy Hn]]]]]. split; [exact Hv|].
          exists (S i), y. repeat split; auto. lia.
        - destruct (look_keep c0 n' (own n') (fold_right (fun n h => keep c0 n (own n) h)
            (starting own xs (N.succ c0)) ns) c n) as [[E [<- <-]]|E]; rewrite E in Hl.
          + injection Hl as <-. split; [reflexivity|]. exists O, x. repeat split; [lia|].
            apply Hin. left. reflexivity.
          + apply IHn; [intros; apply Hin; right; assumption|exact Hl]. }
      apply (G (pre x)); auto.
  Qed.

  Section Steps.
    Context {A : Type}.
    Variables (can_take : held A -> list send -> bool) (receive : list send -> held A -> held A).
    Variable sound : nat -> held A -> Prop.

    Definition is_at (t : nat) (x : list send) : bool := forallb (fun e => step e =? t)%nat x.

    Fixpoint replay (t : nat) (gs : list (list (list send))) (h : held A) : option (held A) :=
      match gs with
      | [] => Some h
      | g :: gs' =>
          if forallb (fun x => is_at t x && can_take h x) g
          then replay (S t) gs' (fold_right receive h g) else None
      end.

    Hypothesis later : forall t h, sound t h -> sound (S t) h.
    Hypothesis received : forall t x h0 h, In x (concat groups) -> is_at t x = true -> sound t h0 ->
      can_take h0 x = true -> sound (S t) h -> sound (S t) (receive x h).

    (** All arrivals are in their steps, made from what a sound state says. *)
    Lemma replay_sound gs t h h' : (forall g, In g gs -> In g groups) -> sound t h ->
      replay t gs h = Some h' ->
      sound (t + length gs) h' /\
      forall i g, nth_error gs i = Some g -> forall x, In x g -> is_at (t + i) x = true /\
        exists h0, sound (t + i)%nat h0 /\ can_take h0 x = true.
    Proof.
      revert t h. induction gs as [|g gs IH]; cbn [replay length]; intros t h Hin Hs H.
      - injection H as <-. rewrite Nat.add_0_r. split; [exact Hs|]. intros [|i]; discriminate.
      - destruct (forallb _ g) eqn:E; [|discriminate]. rewrite forallb_forall in E.
        assert (E1 : forall x, In x g -> is_at t x = true /\ can_take h x = true).
        { intros x Hx. apply andb_true_iff, E, Hx. }
        assert (Hnext : sound (S t) (fold_right receive h g)).
        { assert (G : forall l, (forall x, In x l -> In x g) -> sound (S t) (fold_right receive h l)).
          { induction l as [|x l IHl]; cbn; intros Hl; [apply later, Hs|].
            assert (Hx : In x g) by (apply Hl; left; reflexivity).
            destruct (E1 x Hx) as [Ht Hc]. apply received with (h0 := h); auto.
            apply in_concat. exists g. split; [apply Hin; left; reflexivity|exact Hx]. }
          apply G; auto. }
        destruct (IH (S t) _ (fun g' Hg => Hin g' (or_intror Hg)) Hnext H) as [H1 H2].
        replace (t + S (length gs))%nat with (S t + length gs)%nat by lia.
        split; [exact H1|]. intros [|i] g' Hg x Hx; cbn in Hg.
        + injection Hg as <-. rewrite Nat.add_0_r. destruct (E1 x Hx). eauto.
        + replace (t + S i)%nat with (S t + i)%nat by lia. eauto.
    Qed.
  End Steps.

  (** What is selected of arrivals in a step. *)
  Lemma of_step {B} (f : list send -> list B) t gs i :
    (forall j g, nth_error gs j = Some g -> forall x, In x g -> is_at (t + j) x = true) ->
    (forall x, (forall e, In e x -> step e <> (t + i)%nat) -> f x = []) ->
    flat_map f (concat gs) = flat_map f (nth i gs []).
  Proof.
    intros H Hf. revert t i H Hf. induction gs as [|g gs IH]; intros t i H Hf.
    - destruct i; reflexivity.
    - cbn [concat]. rewrite flat_map_app.
      assert (N : forall l, (forall x, In x l -> f x = []) -> flat_map f l = []).
      { induction l as [|x l IHl]; cbn; intros Hl; [reflexivity|].
        rewrite (Hl x (or_introl eq_refl)). apply IHl. auto. }
      assert (At : forall u x, is_at u x = true -> u <> (t + i)%nat -> f x = []).
      { intros u x Hx Hu. apply Hf. intros e He. unfold is_at in Hx. rewrite forallb_forall in Hx.
        specialize (Hx e He). apply Nat.eqb_eq in Hx. lia. }
      destruct i as [|i]; cbn [nth].
      + rewrite (N (concat gs)); [apply app_nil_r|]. intros x Hx. apply in_concat in Hx as [g' [Hg Hx]].
        apply In_nth_error in Hg as [j Hj]. apply (At (t + S j)%nat); [|lia]. exact (H (S j) g' Hj x Hx).
      + rewrite (N g); [|intros x Hx; apply (At (t + 0)%nat); [exact (H O g eq_refl x Hx)|lia]].
        apply (IH (S t)).
        * intros j g' Hj x Hx. replace (S t + j)%nat with (t + S j)%nat by lia. exact (H (S j) g' Hj x Hx).
        * replace (S t + i)%nat with (t + S i)%nat by lia. exact Hf.
  Qed.

  (** Collectives that do not combine. *)
  Definition can_copy (h : held unit) (x : list send) : bool :=
    forallb (fun e => match look h (what e) (from e) with Some _ => true | None => false end) x.
  Definition receive_copy (x : list send) (h : held unit) : held unit :=
    fold_right (fun e h => keep (what e) (to e) tt h) h x.
  Definition sound_copies (t : nat) (h : held unit) : Prop :=
    forall c n v, look h c n = Some v -> holds chunks replayed t c n.

  Lemma in_sends x e : In x (concat groups) -> In e x -> In e (sends replayed).
  Proof. intros Hx He. apply in_concat. eauto. Qed.

  Lemma is_at_in t x e : is_at t x = true -> In e x -> step e = t.
  Proof. unfold is_at. rewrite forallb_forall. intros H He. apply Nat.eqb_eq, H, He. Qed.

  Lemma copied t h e x : can_copy h x = true -> sound_copies t h -> In e x ->
    holds chunks replayed t (what e) (from e).
  Proof.
    unfold can_copy. rewrite forallb_forall. intros H Hs He. specialize (H e He). cbn in H.
    destruct (look h (what e) (from e)) as [u|] eqn:E; [|discriminate]. exact (Hs _ _ _ E).
  Qed.

  Lemma received_copies t x h0 h : In x (concat groups) -> is_at t x = true -> sound_copies t h0 ->
    can_copy h0 x = true -> sound_copies (S t) h -> sound_copies (S t) (receive_copy x h).
  Proof.
    intros Hx Ht Hs Hc H.
    assert (G : forall l, incl l x -> sound_copies (S t) (receive_copy l h)).
    { induction l as [|e l IH]; intros Hl; [exact H|]. intros c n v Hv. cbn in Hv.
      destruct (look_keep (what e) (to e) tt (receive_copy l h) c n) as [[E [<- <-]]|E];
        unfold receive_copy in E; rewrite E in Hv.
      - assert (He : In e x) by (apply Hl; left; reflexivity).
        rewrite <- (is_at_in t x e Ht He). apply holds_sent; [eapply in_sends; eauto|].
        rewrite (is_at_in t x e Ht He). eapply copied; eauto.
      - apply (IH (fun y Hy => Hl y (or_intror Hy)) c n v Hv). }
    apply G, incl_refl.
  Qed.

  Lemma later_copies t h : sound_copies t h -> sound_copies (S t) h.
  Proof. intros H c n v Hl. apply holds_on. exact (H c n v Hl). Qed.

  (** Collectives that combine: the sums that each node has. *)
  Definition sums_at (h : held (list (list node))) (c : N) (n : node) : list (list node) :=
    match look h c n with Some l => l | None => [] end.
  Definition formed (h : held (list (list node))) (c : N) (n : node) (X : list node) : bool :=
    distinct N.eqb X && covers (length X) (sums_at h c n) X.
  Definition can_sum (h : held (list (list node))) (x : list send) : bool :=
    forallb (fun e => match carried e with [] => false | _ => true end
      && formed h (what e) (from e) (carried e)) x.
  Definition receive_sum (x : list send) (h : held (list (list node))) : held (list (list node)) :=
    match x with
    | [] => h
    | e :: _ => keep (what e) (to e) (arriving x :: sums_at h (what e) (to e)) h
    end.
  Definition sound_sums (t : nat) (h : held (list (list node))) : Prop :=
    forall c n l, look h c n = Some l -> forall X, In X l -> has chunks replayed t c n X.

  Lemma later_sums t h : sound_sums t h -> sound_sums (S t) h.
  Proof. intros H c n l Hl X HX. apply has_on. exact (H c n l Hl X HX). Qed.

  Lemma received_sums t x h0 h : In x (concat groups) -> is_at t x = true -> sound_sums t h0 ->
    can_sum h0 x = true -> sound_sums (S t) h -> sound_sums (S t) (receive_sum x h).
  Proof.
    intros Hx Ht _ _ H. destruct x as [|e x]; [exact H|]. intros c n l Hl X HX.
    unfold receive_sum in Hl. set (g := e :: x) in *.
    destruct (look_keep (what e) (to e) (arriving g :: sums_at h (what e) (to e)) h c n)
      as [[E [<- <-]]|E]; rewrite E in Hl.
    - injection Hl as <-. destruct HX as [<-|HX].
      + assert (He : In e g) by (left; reflexivity). rewrite <- (is_at_in t g e Ht He).
        apply has_arrived; assumption.
      + unfold sums_at in HX. destruct (look h (what e) (to e)) as [l'|] eqn:El; [|destruct HX].
        exact (H _ _ _ El X HX).
    - exact (H c n l Hl X HX).
  Qed.

  Lemma formed_sound t h c n X : sound_sums t h -> formed h c n X = true ->
    forms chunks replayed t c n X.
  Proof.
    intros Hs H. unfold formed in H. apply andb_true_iff in H as [Hd H].
    apply covers_sound in H as [parts [Hp Hperm]]. exists parts. repeat split; auto.
    - intros Y HY. apply Hp in HY. unfold sums_at in HY.
      destruct (look h c n) as [l|] eqn:E; [|destruct HY]. exact (Hs c n l E Y HY).
    - apply distinct_nodup with (eqb := N.eqb); [exact N.eqb_eq|exact Hd].
  Qed.

  Fixpoint arrived (p : N -> node -> list node -> bool) (xs : list chunk) (c : N) : bool :=
    match xs with
    | [] => true
    | x :: xs' => forallb (fun n => p c n (pre x)) (post x) && arrived p xs' (N.succ c)
    end.

  Lemma arrived_sound p xs c0 i x n : arrived p xs c0 = true -> nth_error xs i = Some x ->
    In n (post x) -> p (c0 + N.of_nat i)%N n (pre x) = true.
  Proof.
    revert c0 i. induction xs as [|y xs IH]; intros c0 i H Hx Hn; [destruct i; discriminate|].
    cbn in H. apply andb_true_iff in H as [H1 H2]. destruct i as [|i]; cbn in Hx.
    - injection Hx as ->. rewrite forallb_forall in H1. rewrite N.add_0_r. auto.
    - replace (c0 + N.of_nat (S i))%N with (N.succ c0 + N.of_nat i)%N by lia. eauto.
  Qed.

  (** The room of a step. *)
  Definition load_of (g : list (list send)) (b : bound) : nat :=
    match counts b with
    | EachSend => length (filter (is_over b) (concat g))
    | CopiesOnce => length (nodup data_eq (map data (filter (is_over b) (concat g))))
    | SumsOnce => length (filter (existsb (is_over b)) g)
    end.
  Definition fits_step (rg : Q * list (list send)) : bool :=
    forallb (fun b => Qle_bool (inject_Z (Z.of_nat (load_of (snd rg) b))) (capacity b * fst rg))
      (bounds m).

  (** Arrivals of several sends. *)
  Definition same_data (x y : send) : bool := if data_eq (data x) (data y) then true else false.
  Definition copies (now : list send) (e : send) : bool :=
    existsb (fun b => match counts b with CopiesOnce => true | _ => false end && is_over b e
      && existsb (fun e' => same_data e' e && negb (to e' =? to e)%N && is_over b e') now) (bounds m).
  Definition check_arrival (now : list send) (x : list send) : bool :=
    match x with
    | [_] => true
    | [] => combining k
    | e :: _ =>
        let of_chunk := filter (fun e' => (what e' =? what e)%N) now in
        combining k && forallb (fun e' => (what e' =? what e)%N && (to e' =? to e)%N) x
        && distinct N.eqb (arriving x) && forallb (fun e' => negb (copies of_chunk e')) x
    end.

  Definition check_replay : bool :=
    (length groups =? length all_rounds)%nat
    && forallb (fun r => Qle_bool 0 r) all_rounds
    && forallb (fun g => forallb (fun e => existsb (link_eqb (from e, to e)) (links m)) (concat g)) groups
    && forallb (fun g => let now := concat g in forallb (check_arrival now) g) groups
    && forallb fits_step (combine all_rounds groups)
    && if combining k then
         match replay can_sum receive_sum 0 groups (starting (fun n => [[n]]) chunks 0) with
         | Some h => arrived (formed h) chunks 0
         | None => false
         end
       else
         match replay can_copy receive_copy 0 groups (starting (fun _ => tt) chunks 0) with
         | Some h => arrived (fun c n _ => match look h c n with Some _ => true | None => false end)
                             chunks 0
         | None => false
         end.

  Lemma flat_map_filter {B} (p : B -> bool) l : flat_map (filter p) l = filter p (concat l).
  Proof. induction l as [|x l IH]; cbn; [reflexivity|]. rewrite filter_app, IH. reflexivity. Qed.

  Lemma flat_map_select {B} (p : B -> bool) l :
    flat_map (fun x => if p x then [x] else []) l = filter p l.
  Proof. induction l as [|x l IH]; cbn; [reflexivity|]. rewrite IH. destruct (p x); reflexivity. Qed.

  Section InSteps.
    Hypothesis in_steps : forall i g, nth_error groups i = Some g -> forall x, In x g ->
      is_at i x = true.

    Lemma in_step i e x : In x (nth i groups []) -> In e x -> step e = i.
    Proof.
      intros Hx He. destruct (nth_error groups i) as [g|] eqn:E.
      - rewrite (nth_error_nth _ _ _ E) in Hx. exact (is_at_in _ _ _ (in_steps _ _ E _ Hx) He).
      - apply nth_error_None in E. rewrite nth_overflow in Hx by exact E. destruct Hx.
    Qed.

    Lemma load_sound t b : load replayed t b = load_of (nth t groups []) b.
    Proof.
      set (now := fun e => Nat.eqb (step e) t && is_over b e).
      assert (S : filter now (sends replayed) = filter (is_over b) (concat (nth t groups []))).
      { unfold sends. cbn [arrivals replayed]. rewrite <- flat_map_filter.
        rewrite (of_step (filter now) O groups t in_steps).
        - rewrite flat_map_filter. apply filter_ext_in. intros e He.
          apply in_concat in He as [x [Hx He]]. unfold now.
          rewrite (in_step t e x Hx He), Nat.eqb_refl. reflexivity.
        - intros x Hx. apply filter_none. intros e He. unfold now.
          rewrite (proj2 (Nat.eqb_neq (step e) t)) by exact (Hx e He). reflexivity. }
      assert (A : filter (existsb now) (arrivals replayed)
        = filter (existsb (is_over b)) (nth t groups [])).
      { cbn [arrivals replayed]. rewrite <- flat_map_select.
        rewrite (of_step _ O groups t in_steps).
        - rewrite flat_map_select. apply filter_ext_in. intros x Hx.
          apply eq_true_iff_eq. rewrite !existsb_exists.
          split; intros [e [He E]]; exists e; (split; [exact He|]); unfold now in *;
            rewrite (in_step t e x Hx He), Nat.eqb_refl in *; exact E.
        - intros x Hx. destruct (existsb now x) eqn:E; [|reflexivity].
          apply existsb_exists in E as [e [He E]]. apply andb_true_iff in E as [E _].
          apply Nat.eqb_eq in E. destruct (Hx e He E). }
      unfold load, load_of. fold now. rewrite S, A. reflexivity.
    Qed.

    Lemma arrival_sound i g x : nth_error groups i = Some g -> In x g ->
      check_arrival (concat g) x = true ->
      (exists e, x = [e]) \/ (combining k = true /\ add_up replayed m x).
    Proof.
      intros Hg Hx H. pose proof (in_steps i g Hg x Hx) as Ht.
      destruct x as [|e [|e2 x]]; cbn [check_arrival] in H; [|left; eauto|].
      - right. split; [exact H|]. split; [exists 0%N, 0%N, O; intros ? []|].
        split; [constructor|intros ? []].
      - right. set (g' := e :: e2 :: x) in *. rewrite !andb_true_iff, !forallb_forall in H.
        destruct H as [[[Hk Hsame] Hd] Hno]. split; [exact Hk|]. split; [|split].
        + exists (what e), (to e), i. intros e' He'. specialize (Hsame e' He').
          apply andb_true_iff in Hsame as [H1 H2]. apply N.eqb_eq in H1, H2.
          repeat split; auto. exact (is_at_in i g' e' Ht He').
        + apply distinct_nodup with (eqb := N.eqb); [exact N.eqb_eq|exact Hd].
        + intros e' He' [b [y [Hb [Hc [Ho [Hy [Ho' [Hs [Hda Hto]]]]]]]]].
          specialize (Hno e' He'). apply negb_true_iff in Hno. rewrite <- not_true_iff_false in Hno.
          apply Hno. apply existsb_exists. exists b. split; [exact Hb|].
          rewrite Hc, Ho. apply existsb_exists. exists y. split.
          * apply in_concat in Hy as [z [Hz Hy]]. apply in_concat in Hz as [h [Hh Hz]].
            apply In_nth_error in Hh as [j Hj].
            pose proof (is_at_in j z y (in_steps j h Hj z Hz) Hy) as E1.
            pose proof (is_at_in i g' e' Ht He') as E2.
            assert (j = i) by congruence. subst j. assert (h = g) by congruence. subst h.
            apply filter_In. split; [apply in_concat; eauto|]. injection Hda as -> _ _.
            specialize (Hsame e' He'). apply andb_true_iff in Hsame as [H1 _]. exact H1.
          * unfold same_data. destruct (data_eq (data y) (data e')); [|contradiction].
            rewrite Ho'. rewrite (proj2 (N.eqb_neq (to y) (to e'))) by exact Hto. reflexivity.
    Qed.
  End InSteps.

  Lemma check_replay_holds : check_replay = true -> valid chunks replayed m (combining k) /\
    length groups = length all_rounds /\
    forall t b, load replayed t b = load_of (nth t groups []) b.
  Proof.
    unfold check_replay. rewrite !andb_true_iff. intros [[[[[Hlen Hpos] Hlinks] Harr] Hfit] H].
    apply Nat.eqb_eq in Hlen. rewrite forallb_forall in Hpos, Hlinks, Harr, Hfit.
    assert (Hlink : forall e, In e (sends replayed) -> In (from e, to e) (links m)).
    { intros e He. apply in_concat in He as [x [Hx He]]. apply in_concat in Hx as [g [Hg Hx]].
      specialize (Hlinks g Hg). rewrite forallb_forall in Hlinks.
      specialize (Hlinks e). assert (He' : In e (concat g)) by (apply in_concat; eauto).
      apply Hlinks, existsb_exists in He' as [l [Hl E]]. apply link_eqb_eq in E. subst. exact Hl. }
    assert (Hrounds : forall r, In r all_rounds -> (0 <= r)%Q).
    { intros r Hr. apply Qle_bool_iff, Hpos, Hr. }
    (* What the steps of the replay prove, whatever it keeps. *)
    assert (Valid : forall (is_held : nat -> list send -> Prop),
      (forall i g, nth_error groups i = Some g -> forall x, In x g -> is_at i x = true /\ is_held i x) ->
      (forall e, In e (sends replayed) -> exists x, In e x /\ is_held (step e) x) /\
      (forall e, In e (sends replayed) -> (step e < length all_rounds)%nat) /\
      (forall x, In x (concat groups) ->
        (exists e, x = [e]) \/ (combining k = true /\ add_up replayed m x)) /\
      (forall t b, (t < length all_rounds)%nat -> In b (bounds m) ->
        (inject_Z (Z.of_nat (load replayed t b)) <= capacity b * nth t all_rounds 0)%Q) /\
      (forall t b, load replayed t b = load_of (nth t groups []) b)).
    { intros is_held Hr. assert (Hs := fun i g Hg x Hx => proj1 (Hr i g Hg x Hx)).
      assert (At : forall e, In e (sends replayed) -> exists i g x,
        nth_error groups i = Some g /\ In x g /\ In e x /\ step e = i).
      { intros e He. apply in_concat in He as [x [Hx He]]. apply in_concat in Hx as [g [Hg Hx]].
        apply In_nth_error in Hg as [i Hi]. exists i, g, x. repeat split; auto.
        exact (is_at_in i x e (Hs i g Hi x Hx) He). }
      split; [|split; [|split; [|split]]].
      - intros e He. destruct (At e He) as [i [g [x [Hg [Hx [Hex <-]]]]]]. exists x.
        split; [exact Hex|]. apply (Hr _ g Hg x Hx).
      - intros e He. destruct (At e He) as [i [g [x [Hg [Hx [Hex <-]]]]]]. rewrite <- Hlen.
        apply nth_error_Some. congruence.
      - intros x Hx. apply in_concat in Hx as [g [Hg Hx]]. specialize (Harr g Hg). cbv zeta in Harr.
        rewrite forallb_forall in Harr. apply In_nth_error in Hg as [i Hi].
        exact (arrival_sound Hs i g x Hi Hx (Harr x Hx)).
      - intros t b Ht Hb. rewrite (load_sound Hs).
        assert (Hin : In (nth t all_rounds 0%Q, nth t groups []) (combine all_rounds groups)).
        { rewrite <- combine_nth by auto. apply nth_In. rewrite combine_length. lia. }
        apply Hfit in Hin. unfold fits_step in Hin. rewrite forallb_forall in Hin.
        apply Qle_bool_iff, (Hin b Hb).
      - exact (load_sound Hs). }
    destruct (combining k).
    - destruct (replay _ _ _ _ _) as [h|] eqn:E; [|discriminate].
      apply (replay_sound can_sum receive_sum sound_sums later_sums received_sums) in E; auto.
      + destruct E as [Hend Hsteps]. destruct (Valid _ Hsteps) as [Hheld [Hin [Ha [Hroom Hload]]]].
        split; [|auto]. constructor; cbn [rounds arrivals replayed steps]; auto.
        * intros e He. destruct (Hheld e He) as [x [Hx [h0 [Hs Hc]]]]. unfold can_sum in Hc.
          rewrite forallb_forall in Hc. specialize (Hc e Hx).
          apply andb_true_iff in Hc as [Hne Hc]. split; [|eapply formed_sound; eauto].
          destruct (carried e); discriminate.
        * intros c x n Hx Hn. unfold steps. cbn [rounds replayed]. rewrite <- Hlen.
          apply (formed_sound (length groups) h); [exact Hend|].
          pose proof (arrived_sound _ _ _ _ _ _ H Hx Hn) as R. cbn in R. rewrite N2Nat.id in R.
          exact R.
      + intros c n l Hl X HX. apply starting_sound in Hl as [-> [i [x [-> [Hx Hn]]]]].
        destruct HX as [<-|[]]. apply has_own with (x := x); [|exact Hn].
        unfold is_chunk. rewrite N.add_0_l, Nat2N.id. exact Hx.
    - destruct (replay _ _ _ _ _) as [h|] eqn:E; [|discriminate].
      apply (replay_sound can_copy receive_copy sound_copies later_copies received_copies) in E;
        auto.
      + destruct E as [Hend Hsteps]. destruct (Valid _ Hsteps) as [Hheld [Hin [Ha [Hroom Hload]]]].
        split; [|auto]. constructor; cbn [rounds arrivals replayed steps]; auto.
        * intros e He. destruct (Hheld e He) as [x [Hx [h0 [Hs Hc]]]]. eapply copied; eauto.
        * intros c x n Hx Hn. unfold steps. cbn [rounds replayed]. rewrite <- Hlen.
          pose proof (arrived_sound _ _ _ _ _ _ H Hx Hn) as R. cbn in R. rewrite N2Nat.id in R.
          destruct (look h c n) as [v|] eqn:El; [|discriminate]. exact (Hend _ _ _ El).
      + intros c n v Hl. apply starting_sound in Hl as [_ [i [x [-> [Hx Hn]]]]].
        apply holds_first with (x := x); [|exact Hn].
        unfold is_chunk. rewrite N.add_0_l, Nat2N.id. exact Hx.
  Qed.

  Lemma check_replay_sound : check_replay = true -> valid chunks replayed m (combining k).
  Proof. intros H. apply check_replay_holds, H. Qed.
End Replay.
