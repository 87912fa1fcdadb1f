(** * Points: an algorithm is replayed, so it exists *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool Permutation FMapPositive.
From Syncoll Require Import Definitions Sums Paths Shares Certificates.
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
  Variables (all_rounds : list Q) (groups : list (list send)). (* the sends of each step *)

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
    Variables (can_send : held A -> send -> bool) (receive : send -> held A -> held A).
    Variable sound : nat -> held A -> Prop.

    Fixpoint replay (t : nat) (gs : list (list send)) (h : held A) : option (held A) :=
      match gs with
      | [] => Some h
      | g :: gs' =>
          if forallb (fun e => (step e =? t)%nat && can_send h e) g
          then replay (S t) gs' (fold_right receive h g) else None
      end.

    Hypothesis later : forall t h, sound t h -> sound (S t) h.
    Hypothesis received : forall e h0 h, In e (concat groups) -> sound (step e) h0 ->
      can_send h0 e = true -> sound (S (step e)) h -> sound (S (step e)) (receive e h).

    (** All sends are in their steps, made from what a sound state says. *)
    Lemma replay_sound gs t h h' : (forall g, In g gs -> In g groups) -> sound t h ->
      replay t gs h = Some h' ->
      sound (t + length gs) h' /\
      (forall e, In e (concat gs) -> (t <= step e < t + length gs)%nat /\
         exists h0, sound (step e) h0 /\ can_send h0 e = true) /\
      (forall i p, filter (fun e => (step e =? t + i)%nat && p e) (concat gs)
         = filter p (nth i gs [])).
    Proof.
      revert t h. induction gs as [|g gs IH]; cbn [replay length concat]; intros t h Hin Hs H.
      - injection H as <-. rewrite Nat.add_0_r. split; [exact Hs|]. split; [intros e []|].
        intros [|i] p; reflexivity.
      - destruct (forallb _ g) eqn:E; [|discriminate]. rewrite forallb_forall in E.
        assert (E1 : forall e, In e g -> step e = t /\ can_send h e = true).
        { intros e He. specialize (E e He). apply andb_true_iff in E as [E1 E2].
          apply Nat.eqb_eq in E1. auto. }
        assert (Hnext : sound (S t) (fold_right receive h g)).
        { assert (G : forall l, (forall e, In e l -> In e g) -> sound (S t) (fold_right receive h l)).
          { induction l as [|e l IHl]; cbn; intros Hl; [apply later, Hs|].
            assert (He : In e g) by (apply Hl; left; reflexivity).
            destruct (E1 e He) as [<- Hc]. apply received with (h0 := h); [|exact Hs|exact Hc|].
            - apply in_concat. exists g. split; [apply Hin; left; reflexivity|exact He].
            - apply IHl. intros; apply Hl; right; assumption. }
          apply G; auto. }
        destruct (IH (S t) _ (fun g' Hg => Hin g' (or_intror Hg)) Hnext H) as [H1 [H2 H3]].
        replace (t + S (length gs))%nat with (S t + length gs)%nat by lia.
        split; [exact H1|]. split.
        + intros e He. apply in_app_or in He as [He|He].
          * destruct (E1 e He) as [<- Hc]. split; [lia|]. exists h. auto.
          * destruct (H2 e He) as [Hr Hx]. split; [lia|exact Hx].
        + intros i p. rewrite filter_app. destruct i as [|i].
          * cbn [nth]. rewrite Nat.add_0_r.
            assert (F1 : filter (fun e => (step e =? t)%nat && p e) g = filter p g).
            { apply filter_ext_in. intros e He. destruct (E1 e He) as [-> _].
              rewrite Nat.eqb_refl. reflexivity. }
            rewrite F1, (filter_none _ (concat gs)); [apply app_nil_r|].
            intros e He. destruct (H2 e He) as [Hr _].
            rewrite (proj2 (Nat.eqb_neq (step e) t)) by lia. reflexivity.
          * cbn [nth]. rewrite (filter_none _ g).
            -- rewrite <- H3. cbn [app]. apply filter_ext. intros e.
               replace (t + S i)%nat with (S t + i)%nat by lia. reflexivity.
            -- intros e He. destruct (E1 e He) as [-> _].
               rewrite (proj2 (Nat.eqb_neq t (t + S i))) by lia. reflexivity.
    Qed.
  End Steps.

  (** Collectives that do not combine. *)
  Definition can_copy (h : held unit) (e : send) : bool :=
    match look h (what e) (from e) with Some _ => true | None => false end.
  Definition receive_copy (e : send) (h : held unit) : held unit := keep (what e) (to e) tt h.
  Definition sound_copies (t : nat) (h : held unit) : Prop :=
    forall c n v, look h c n = Some v -> holds chunks replayed t c n.

  Lemma received_copies e h0 h : In e (concat groups) -> sound_copies (step e) h0 ->
    can_copy h0 e = true -> sound_copies (S (step e)) h ->
    sound_copies (S (step e)) (receive_copy e h).
  Proof.
    intros He Hs Hc H c n v Hl. unfold receive_copy in Hl.
    destruct (look_keep (what e) (to e) tt h c n) as [[E [<- <-]]|E]; rewrite E in Hl.
    - apply holds_sent; [exact He|]. unfold can_copy in Hc.
      destruct (look h0 (what e) (from e)) as [u|] eqn:El; [|discriminate]. exact (Hs _ _ _ El).
    - exact (H c n v Hl).
  Qed.

  Lemma later_copies t h : sound_copies t h -> sound_copies (S t) h.
  Proof. intros H c n v Hl. apply holds_on. exact (H c n v Hl). Qed.

  (** Collectives that combine: the sums that each node has. *)
  Definition sums_at (h : held (list (list node))) (c : N) (n : node) : list (list node) :=
    match look h c n with Some l => l | None => [] end.
  Definition formed (h : held (list (list node))) (c : N) (n : node) (X : list node) : bool :=
    distinct N.eqb X && covers (length X) (sums_at h c n) X.
  Definition can_sum (h : held (list (list node))) (e : send) : bool :=
    match carried e with [] => false | _ => true end && formed h (what e) (from e) (carried e).
  Definition receive_sum (e : send) (h : held (list (list node))) : held (list (list node)) :=
    keep (what e) (to e) (carried e :: sums_at h (what e) (to e)) h.
  Definition sound_sums (t : nat) (h : held (list (list node))) : Prop :=
    forall c n l, look h c n = Some l -> forall X, In X l -> has chunks replayed t c n X.

  Lemma later_sums t h : sound_sums t h -> sound_sums (S t) h.
  Proof. intros H c n l Hl X HX. apply has_on. exact (H c n l Hl X HX). Qed.

  Lemma received_sums e h0 h : In e (concat groups) -> sound_sums (step e) h0 ->
    can_sum h0 e = true -> sound_sums (S (step e)) h -> sound_sums (S (step e)) (receive_sum e h).
  Proof.
    intros He _ _ H c n l Hl X HX. unfold receive_sum in Hl.
    destruct (look_keep (what e) (to e) (carried e :: sums_at h (what e) (to e)) h c n)
      as [[E [<- <-]]|E]; rewrite E in Hl.
    - injection Hl as <-. destruct HX as [<-|HX]; [apply has_sent; exact He|].
      unfold sums_at in HX. destruct (look h (what e) (to e)) as [l'|] eqn:El; [|destruct HX].
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
  Definition fits_step (rg : Q * list send) : bool :=
    forallb (fun b => Qle_bool (inject_Z (Z.of_nat (length (filter (is_over b) (snd rg)))))
                               (capacity b * fst rg)) (bounds m).

  Definition check_replay : bool :=
    (length groups =? length all_rounds)%nat
    && forallb (fun r => Qle_bool 0 r) all_rounds
    && forallb (forallb (fun e => existsb (link_eqb (from e, to e)) (links m))) groups
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

  Lemma check_replay_sound : check_replay = true -> valid chunks replayed m (combining k).
  Proof.
    unfold check_replay. rewrite !andb_true_iff. intros [[[[Hlen Hpos] Hlinks] Hfit] H].
    apply Nat.eqb_eq in Hlen.
    assert (Hlink : forall e, In e (concat groups) -> In (from e, to e) (links m)).
    { intros e He. apply in_concat in He as [g [Hg He]]. rewrite forallb_forall in Hlinks.
      specialize (Hlinks g Hg). rewrite forallb_forall in Hlinks. specialize (Hlinks e He).
      apply existsb_exists in Hlinks as [l [Hl E]]. apply link_eqb_eq in E. subst. exact Hl. }
    assert (Hrounds : forall r, In r all_rounds -> (0 <= r)%Q).
    { intros r Hr. rewrite forallb_forall in Hpos. apply Qle_bool_iff, Hpos, Hr. }
    assert (Hroom : (forall i p, filter (fun e => (step e =? 0 + i)%nat && p e) (concat groups)
        = filter p (nth i groups [])) -> forall t b, (t < length all_rounds)%nat ->
      In b (bounds m) -> (inject_Z (Z.of_nat (load replayed t b))
        <= capacity b * nth t all_rounds 0)%Q).
    { intros Hf t b Ht Hb. unfold load. cbn [sends replayed].
      pose proof (Hf t (is_over b)) as F. change (0 + t)%nat with t in F. rewrite F.
      rewrite forallb_forall in Hfit.
      specialize (Hfit (nth t all_rounds 0%Q, nth t groups [])).
      assert (Hin : In (nth t all_rounds 0%Q, nth t groups []) (combine all_rounds groups)).
      { rewrite <- combine_nth by auto. apply nth_In. rewrite combine_length. lia. }
      apply Hfit in Hin. unfold fits_step in Hin. rewrite forallb_forall in Hin.
      apply Qle_bool_iff, (Hin b Hb). }
    destruct (combining k).
    - destruct (replay _ _ _ _ _) as [h|] eqn:E; [|discriminate].
      apply (replay_sound can_sum receive_sum sound_sums later_sums received_sums) in E; auto.
      + destruct E as [Hend [Hsends Hf]]. constructor; cbn [rounds sends replayed steps]; auto.
        * intros e He. split; [auto|]. destruct (Hsends e He) as [Hr _]. unfold steps. cbn. lia.
        * intros e He. destruct (Hsends e He) as [_ [h0 [Hs Hc]]]. unfold can_sum in Hc.
          apply andb_true_iff in Hc as [Hne Hc]. split; [|eapply formed_sound; eauto].
          destruct (carried e); [discriminate|]. discriminate.
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
      + destruct E as [Hend [Hsends Hf]].
        assert (Hsenders : forall e, In e (concat groups) ->
          holds chunks replayed (step e) (what e) (from e)).
        { intros e He. destruct (Hsends e He) as [_ [h0 [Hs Hc]]]. unfold can_copy in Hc.
          destruct (look h0 (what e) (from e)) as [v|] eqn:El; [|discriminate]. exact (Hs _ _ _ El). }
        constructor; cbn [rounds sends replayed steps]; auto.
        * intros e He. split; [auto|]. destruct (Hsends e He) as [Hr _]. unfold steps. cbn. lia.
        * intros c x n Hx Hn. unfold steps. cbn [rounds replayed]. rewrite <- Hlen.
          pose proof (arrived_sound _ _ _ _ _ _ H Hx Hn) as R. cbn in R. rewrite N2Nat.id in R.
          destruct (look h c n) as [v|] eqn:El; [|discriminate]. exact (Hend _ _ _ El).
      + intros c n v Hl. apply starting_sound in Hl as [_ [i [x [-> [Hx Hn]]]]].
        apply holds_first with (x := x); [|exact Hn].
        unfold is_chunk. rewrite N.add_0_l, Nat2N.id. exact Hx.
  Qed.
End Replay.
