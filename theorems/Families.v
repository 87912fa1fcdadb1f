(** * Families: an algorithm for each number of waves

    A member of a family starts waves of chunks one after the other, each a copy of one algorithm in
    later steps and with other chunks. Before and after them it may have a head and a tail, which are
    algorithms, too. It is valid if there is room for all: the loads of the parts are added up. Of
    long members the steps in the middle repeat, so that some members show it for all. *)

From Coq Require Import List NArith ZArith QArith Lia Lqa Arith Bool Permutation.
From Syncoll Require Import Definitions Sums Shares Certificates Replay.
Import ListNotations.
Open Scope nat_scope.

(** ** Algorithms for parts of the chunks, one after the other *)

(** A send in later steps, of another chunk. *)
Definition moved (c : N) (d : nat) (e : send) : send :=
  Send (c + what e)%N (from e) (to e) (d + step e) (carried e).

(** The first step, the chunks, and the algorithm of a part. *)
Definition placed := (nat * (list chunk * algorithm))%type.

Definition all_chunks (ps : list placed) : list chunk := concat (map (fun p => fst (snd p)) ps).

Fixpoint all_arrivals (c : N) (ps : list placed) : list (list send) :=
  match ps with
  | [] => []
  | (d, (xs, a)) :: ps' =>
      map (map (moved c d)) (arrivals a) ++ all_arrivals (c + N.of_nat (length xs)) ps'
  end.

(** What is there before step d is 0. *)
Definition later (d : nat) (f : nat -> nat) (t : nat) : nat := if t <? d then 0 else f (t - d).

Fixpoint all_loads (ps : list placed) (b : bound) (t : nat) : nat :=
  match ps with
  | [] => 0
  | (d, (_, a)) :: ps' => later d (fun u => load a u b) t + all_loads ps' b t
  end.

Lemma arriving_moved c d g : arriving (map (moved c d) g) = arriving g.
Proof. unfold arriving. rewrite map_map. reflexivity. Qed.

Section Loads.
  Variables (rs : list Q) (b : bound).
  Notation load_of l t := (load (Algorithm rs l) t b).

  Lemma load_app l1 l2 t : load_of (l1 ++ l2) t <= load_of l1 t + load_of l2 t.
  Proof.
    unfold load, sends. cbn [arrivals]. rewrite concat_app, !filter_app, map_app.
    destruct (counts b); try (rewrite app_length; lia).
    rewrite <- app_length. apply NoDup_incl_length; [apply NoDup_nodup|].
    intros x Hx. apply nodup_In, in_app_or in Hx. apply in_or_app. rewrite !nodup_In. exact Hx.
  Qed.

  Lemma load_moved c d l t : load_of (map (map (moved c d)) l) t <= later d (fun u => load_of l u) t.
  Proof.
    set (now := fun u e => (step e =? u) && is_over b e).
    assert (Now : forall e, now t (moved c d e) = if t <? d then false else now (t - d) e).
    { intros e. unfold now. cbn [step moved]. change (is_over b (moved c d e)) with (is_over b e).
      destruct (Nat.ltb_spec t d).
      - rewrite (proj2 (Nat.eqb_neq (d + step e) t)) by lia. reflexivity.
      - f_equal. apply eq_true_iff_eq. rewrite !Nat.eqb_eq. lia. }
    assert (F : forall ss, filter (now t) (map (moved c d) ss)
      = if t <? d then [] else map (moved c d) (filter (now (t - d)) ss)).
    { induction ss as [|e ss IH]; cbn [map filter]; [destruct (t <? d); reflexivity|].
      rewrite Now, IH. destruct (t <? d); [reflexivity|]. destruct (now (t - d) e); reflexivity. }
    assert (G : filter (existsb (now t)) (map (map (moved c d)) l)
      = if t <? d then [] else map (map (moved c d)) (filter (existsb (now (t - d))) l)).
    { induction l as [|g l IH]; cbn [map filter]; [destruct (t <? d); reflexivity|].
      assert (E : existsb (now t) (map (moved c d) g)
        = if t <? d then false else existsb (now (t - d)) g).
      { induction g as [|e g IHg]; cbn [map existsb]; [destruct (t <? d); reflexivity|].
        rewrite Now, IHg. destruct (t <? d); reflexivity. }
      rewrite E, IH. destruct (t <? d); [reflexivity|].
      destruct (existsb (now (t - d)) g); reflexivity. }
    unfold later, load, sends. cbn [arrivals]. fold (now t). fold (now (t - d)).
    rewrite <- concat_map, F, G. destruct (counts b), (t <? d); cbn [length map nodup];
      rewrite ?map_length; try lia.
    set (f := fun y : N * node * list node => ((c + fst (fst y))%N, snd (fst y), snd y)).
    set (l1 := filter (now (t - d)) (concat l)).
    apply Nat.le_trans with (length (map f (nodup data_eq (map data l1))));
      [|rewrite map_length; lia].
    apply NoDup_incl_length; [apply NoDup_nodup|]. intros x Hx. apply nodup_In in Hx.
    rewrite map_map in Hx. apply in_map_iff in Hx as [e [<- He]]. apply in_map_iff.
    exists (data e). split; [reflexivity|]. apply nodup_In, in_map, He.
  Qed.
End Loads.

Lemma load_rounds a rs t b : load a t b = load (Algorithm rs (arrivals a)) t b.
Proof. reflexivity. Qed.

Lemma loads_add rs ps c b t : load (Algorithm rs (all_arrivals c ps)) t b <= all_loads ps b t.
Proof.
  revert c. induction ps as [|[d [xs a]] ps IH]; intros c; cbn [all_arrivals all_loads].
  - unfold load, sends. cbn. destruct (counts b); cbn; lia.
  - etransitivity; [apply load_app|]. apply Nat.add_le_mono; [|apply IH].
    etransitivity; [apply load_moved|]. unfold later. destruct (t <? d); [lia|].
    rewrite <- load_rounds. lia.
Qed.

Section Parts.
  Variables (m : machine) (combines : bool) (rs : list Q) (ps : list placed).
  Notation whole := (Algorithm rs (all_arrivals 0 ps)).
  Notation chunks := (all_chunks ps).

  (** A part, and the number of its first chunk. *)
  Definition part_at (c : N) (d : nat) (xs : list chunk) (a : algorithm) : Prop :=
    exists ps1 ps2, ps = ps1 ++ (d, (xs, a)) :: ps2 /\ c = N.of_nat (length (all_chunks ps1)).

  Lemma all_chunks_app ps1 ps2 : all_chunks (ps1 ++ ps2) = all_chunks ps1 ++ all_chunks ps2.
  Proof. unfold all_chunks. rewrite map_app, concat_app. reflexivity. Qed.

  Lemma arrivals_of c0 qs g : In g (all_arrivals c0 qs) <-> exists qs1 d xs a qs2 g',
    qs = qs1 ++ (d, (xs, a)) :: qs2 /\ In g' (arrivals a) /\
    g = map (moved (c0 + N.of_nat (length (all_chunks qs1))) d) g'.
  Proof.
    revert c0. induction qs as [|[d [xs a]] qs IH]; intros c0; cbn [all_arrivals].
    - split; [intros []|]. intros [[|? ?] [? [? [? [? [? [E _]]]]]]]; discriminate.
    - rewrite in_app_iff, in_map_iff, IH. split.
      + intros [[g' [<- Hg]]|[qs1 [d' [xs' [a' [qs2 [g' [-> [Hg ->]]]]]]]]].
        * exists [], d, xs, a, qs, g'. cbn. rewrite N.add_0_r. auto.
        * exists ((d, (xs, a)) :: qs1), d', xs', a', qs2, g'. repeat split; auto.
          change (all_chunks ((d, (xs, a)) :: qs1)) with (xs ++ all_chunks qs1).
          rewrite app_length. do 2 f_equal. lia.
      + intros [[|p qs1] [d' [xs' [a' [qs2 [g' [E [Hg ->]]]]]]]]; cbn in E.
        * injection E as -> -> -> ->. left. exists g'. cbn. rewrite N.add_0_r. auto.
        * injection E as <- ->. right. exists qs1, d', xs', a', qs2, g'. repeat split; auto.
          change (all_chunks ((d, (xs, a)) :: qs1)) with (xs ++ all_chunks qs1).
          rewrite app_length. do 2 f_equal. lia.
  Qed.

  Lemma arrival_in g : In g (arrivals whole) <-> exists c d xs a g',
    part_at c d xs a /\ In g' (arrivals a) /\ g = map (moved c d) g'.
  Proof.
    cbn [arrivals]. rewrite arrivals_of. split.
    - intros [ps1 [d [xs [a [ps2 [g' [E [Hg ->]]]]]]]]. eexists _, d, xs, a, g'.
      split; [exists ps1, ps2; split; [exact E|reflexivity]|]. split; [exact Hg|reflexivity].
    - intros [c [d [xs [a [g' [[ps1 [ps2 [E ->]]] [Hg ->]]]]]]]. exists ps1, d, xs, a, ps2, g'. auto.
  Qed.

  Lemma send_in e : In e (sends whole) <-> exists c d xs a e',
    part_at c d xs a /\ In e' (sends a) /\ e = moved c d e'.
  Proof.
    unfold sends. rewrite in_concat. split.
    - intros [g [Hg He]]. apply arrival_in in Hg as [c [d [xs [a [g' [Hp [Hg ->]]]]]]].
      apply in_map_iff in He as [e' [<- He]]. exists c, d, xs, a, e'. repeat split; auto.
      apply in_concat. eauto.
    - intros [c [d [xs [a [e' [Hp [He ->]]]]]]]. apply in_concat in He as [g' [Hg He]].
      exists (map (moved c d) g'). split; [apply arrival_in; eauto 9|apply in_map, He].
  Qed.

  Lemma chunk_at c d xs a i x : part_at c d xs a -> is_chunk xs i x -> is_chunk chunks (c + i)%N x.
  Proof.
    intros [ps1 [ps2 [-> ->]]] H. unfold is_chunk in *. rewrite all_chunks_app.
    rewrite nth_error_app2 by lia.
    change (all_chunks ((d, (xs, a)) :: ps2)) with (xs ++ all_chunks ps2).
    replace (_ - _)%nat with (N.to_nat i) by lia.
    rewrite nth_error_app1; [exact H|]. apply nth_error_Some. congruence.
  Qed.

  Lemma chunk_of i x : is_chunk chunks i x -> exists c d xs a j,
    part_at c d xs a /\ i = (c + j)%N /\ is_chunk xs j x.
  Proof.
    unfold is_chunk, part_at.
    assert (G : forall qs n, nth_error (all_chunks qs) n = Some x -> exists qs1 d xs a qs2 j,
      qs = qs1 ++ (d, (xs, a)) :: qs2 /\ n = length (all_chunks qs1) + j /\ nth_error xs j = Some x).
    { induction qs as [|[d [xs a]] qs IH]; intros n H; [destruct n; discriminate|].
      change (all_chunks ((d, (xs, a)) :: qs)) with (xs ++ all_chunks qs) in H.
      destruct (Nat.ltb_spec n (length xs)) as [Hn|Hn].
      - rewrite nth_error_app1 in H by exact Hn. exists [], d, xs, a, qs, n. auto.
      - rewrite nth_error_app2 in H by exact Hn.
        destruct (IH _ H) as [qs1 [d' [xs' [a' [qs2 [j [-> [E Hj]]]]]]]].
        exists ((d, (xs, a)) :: qs1), d', xs', a', qs2, j. split; [reflexivity|]. split; [|exact Hj].
        change (all_chunks ((d, (xs, a)) :: qs1)) with (xs ++ all_chunks qs1).
        rewrite app_length. lia. }
    intros H. destruct (G ps _ H) as [ps1 [d [xs [a [ps2 [j [E [En Hj]]]]]]]].
    exists (N.of_nat (length (all_chunks ps1))), d, xs, a, (N.of_nat j). split; [eauto|].
    split; [lia|]. rewrite Nat2N.id. exact Hj.
  Qed.

  (** A chunk is in one part. *)
  Lemma one_part c d xs a i c' d' xs' a' j : part_at c d xs a -> part_at c' d' xs' a' ->
    N.to_nat i < length xs -> N.to_nat j < length xs' -> (c + i = c' + j)%N ->
    c = c' /\ d = d' /\ a = a'.
  Proof.
    intros [ps1 [ps2 [E ->]]] [qs1 [qs2 [E' ->]]] Hi Hj H.
    assert (G : forall p q rest rest' (r s : placed), p ++ r :: rest = q ++ s :: rest' ->
      length p < length q -> exists z, q = p ++ r :: z).
    { induction p as [|x p IH]; intros [|y q] rest rest' r s Eq Hl; cbn in *; try lia.
      - injection Eq as -> _. exists q. reflexivity.
      - injection Eq as -> Eq. destruct (IH q rest rest' r s Eq ltac:(lia)) as [z ->].
        exists z. reflexivity. }
    rewrite E in E'. destruct (Nat.lt_trichotomy (length ps1) (length qs1)) as [Hl|[Hl|Hl]].
    - destruct (G _ _ _ _ _ _ E' Hl) as [z ->]. rewrite all_chunks_app, app_length in H.
      change (all_chunks ((d, (xs, a)) :: z)) with (xs ++ all_chunks z) in H.
      rewrite app_length in H. lia.
    - assert (ps1 = qs1 /\ (d, (xs, a)) :: ps2 = (d', (xs', a')) :: qs2) as [-> E2].
      { clear -E' Hl. revert qs1 E' Hl. induction ps1 as [|x ps1 IH]; intros [|y qs1] E' Hl;
          cbn in *; try lia; [auto|]. injection E' as -> E'.
        destruct (IH qs1 E' ltac:(lia)) as [-> H]. auto. }
      injection E2 as -> _ -> _. auto.
    - destruct (G _ _ _ _ _ _ (eq_sym E') Hl) as [z ->]. rewrite all_chunks_app, app_length in H.
      change (all_chunks ((d', (xs', a')) :: z)) with (xs' ++ all_chunks z) in H.
      rewrite app_length in H. lia.
  Qed.

  Lemma holds_more t u c n : t <= u -> holds chunks whole t c n -> holds chunks whole u c n.
  Proof. induction 1; [auto|]. intros H'. apply holds_on. auto. Qed.

  Lemma has_more t u c n X : t <= u -> has chunks whole t c n X -> has chunks whole u c n X.
  Proof. induction 1; [auto|]. intros H'. apply has_on. auto. Qed.

  Lemma holds_moved c d xs a t i n : part_at c d xs a -> holds xs a t i n ->
    holds chunks whole (d + t) (c + i) n.
  Proof.
    intros Hp. induction 1 as [i x n Hx Hn|t i n H IH|e He H IH].
    - apply (holds_more 0); [lia|]. apply (holds_first _ _ _ x); [eapply chunk_at; eauto|exact Hn].
    - rewrite Nat.add_succ_r. apply holds_on, IH.
    - rewrite Nat.add_succ_r. apply (holds_sent chunks whole (moved c d e)); [|exact IH].
      apply send_in. eauto 9.
  Qed.

  Lemma has_moved c d xs a t i n X : part_at c d xs a -> has xs a t i n X ->
    has chunks whole (d + t) (c + i) n X.
  Proof.
    intros Hp. induction 1 as [i x n Hx Hn|t i n X H IH|g e Hg He].
    - apply (has_more 0); [lia|]. apply (has_own _ _ _ x); [eapply chunk_at; eauto|exact Hn].
    - rewrite Nat.add_succ_r. apply has_on, IH.
    - rewrite Nat.add_succ_r, <- (arriving_moved c d g).
      apply (has_arrived chunks whole (map (moved c d) g) (moved c d e)); [|apply in_map, He].
      apply arrival_in. eauto 9.
  Qed.

  Lemma forms_moved c d xs a t u i n X : part_at c d xs a -> d + t <= u -> forms xs a t i n X ->
    forms chunks whole u (c + i) n X.
  Proof.
    intros Hp Hu [parts [H1 [H2 H3]]]. exists parts. repeat split; auto.
    intros Y HY. apply (has_more (d + t)); [exact Hu|]. eapply has_moved; eauto.
  Qed.

  (** Sends are of chunks of their part. *)
  Lemma sends_chunks xs a e : valid xs a m combines -> In e (sends a) ->
    N.to_nat (what e) < length xs.
  Proof.
    intros Hok He. assert (G : forall x, is_chunk xs (what e) x -> N.to_nat (what e) < length xs).
    { intros x Hx. apply nth_error_Some. unfold is_chunk in Hx. congruence. }
    pose proof (senders_valid _ _ _ _ Hok e He) as H. destruct combines.
    - destruct H as [Hne H]. destruct (carried e) as [|s X] eqn:E; [congruence|].
      assert (K : exists t v, knows xs a (what e) s t v).
      { exists (step e), (from e). eapply forms_knows; [exact H|left; reflexivity]. }
      destruct K as [t [v K]]. revert v K. induction t as [|t IH]; intros v K.
      + apply (knows_O xs a) in K as [_ [x [Hx _]]]. eauto.
      + apply (knows_S m xs a Hok) in K as [K|[e' [_ [_ [_ K]]]]]; eauto.
    - revert H. generalize (step e), (from e). intros t. induction t as [|t IH]; intros v K.
      + apply holds_O in K as [x [Hx _]]. eauto.
      + apply holds_S in K as [K|[e' [_ [_ [_ K]]]]]; eauto.
  Qed.

  Hypothesis parts_valid : forall c d xs a, part_at c d xs a ->
    valid xs a m combines /\ d + steps a <= length rs.
  Hypothesis nonneg_rounds : forall r, In r rs -> (0 <= r)%Q.
  Hypothesis room_for_all : forall t b, t < length rs -> In b (bounds m) ->
    (inject_Z (Z.of_nat (all_loads ps b t)) <= capacity b * nth t rs 0)%Q.

  Lemma parts_together : valid chunks whole m combines.
  Proof.
    constructor.
    - exact nonneg_rounds.
    - intros e He. apply send_in in He as [c [d [xs [a [e' [Hp [He ->]]]]]]].
      destruct (parts_valid _ _ _ _ Hp) as [Hok Hd]. destruct (sends_valid _ _ _ _ Hok e' He) as [H1 H2].
      split; [exact H1|]. change (steps whole) with (length rs). cbn. lia.
    - intros g Hg. apply arrival_in in Hg as [c [d [xs [a [g' [Hp [Hg ->]]]]]]].
      destruct (parts_valid _ _ _ _ Hp) as [Hok _].
      destruct (arrivals_valid _ _ _ _ Hok g' Hg) as [[e ->]|[Hc [[i [n [t H1]]] [H2 H3]]]].
      + left. exists (moved c d e). reflexivity.
      + right. split; [exact Hc|]. split; [|split; [rewrite arriving_moved; exact H2|]].
        * exists (c + i)%N, n, (d + t). intros e He. apply in_map_iff in He as [e' [<- He]].
          destruct (H1 e' He) as [<- [<- <-]]. auto.
        * intros e He Hcopy. apply in_map_iff in He as [e' [<- He]]. apply (H3 e' He).
          destruct Hcopy as [b [y [Hb [Hk [Ho [Hy [Hoy [Hs [Hda Hto]]]]]]]]].
          apply send_in in Hy as [c2 [d2 [xs2 [a2 [y' [Hp2 [Hy ->]]]]]]].
          destruct (parts_valid _ _ _ _ Hp2) as [Hok2 _].
          assert (He' : In e' (sends a)) by (apply in_concat; eauto).
          pose proof (sends_chunks _ _ _ Hok He') as B1.
          pose proof (sends_chunks _ _ _ Hok2 Hy) as B2.
          unfold data in Hda. cbn in Hda, Hs, Hto. injection Hda as D1 D2 D3.
          destruct (one_part _ _ _ _ _ _ _ _ _ _ Hp2 Hp B2 B1 D1) as [-> [-> ->]].
          exists b, y'. repeat split; auto; [lia|]. unfold data. rewrite D2, D3. do 2 f_equal. lia.
    - intros t b Ht Hb. eapply Qle_trans; [|exact (room_for_all t b Ht Hb)].
      rewrite <- Zle_Qle. apply inj_le, loads_add.
    - intros e He. apply send_in in He as [c [d [xs [a [e' [Hp [He ->]]]]]]].
      destruct (parts_valid _ _ _ _ Hp) as [Hok Hd].
      pose proof (senders_valid _ _ _ _ Hok e' He) as H. destruct combines.
      + destruct H as [H1 H2]. split; [exact H1|]. cbn. eapply forms_moved; eauto.
      + cbn. eapply holds_moved; eauto.
    - intros i x n Hx Hn. apply chunk_of in Hx as [c [d [xs [a [j [Hp [-> Hx]]]]]]].
      destruct (parts_valid _ _ _ _ Hp) as [Hok Hd].
      pose proof (post_valid _ _ _ _ Hok j x n Hx Hn) as H.
      change (steps whole) with (length rs).
      destruct combines.
      + eapply forms_moved; eauto.
      + apply (holds_more (d + steps a)); [exact Hd|]. eapply holds_moved; eauto.
  Qed.
End Parts.
