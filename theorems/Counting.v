(** * Certificates by counting sends between parts of the machine

    Sums of contributions from [a] parts that [b] parts need take at least a + b - 2 sends between
    parts (Harary and Schwenk 1974): consider the first part that knows all contributions. Each
    other contributing part has sent something before, and each other part that needs the sum
    receives something afterwards. *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool.
From Syncoll Require Import Definitions Sums Paths Prices Shares.
Import ListNotations.
Open Scope Z_scope.

(** ** Parts that exchange all that they know *)

Section Gossip.
  Variables (part : node -> N) (contributors : list node).

  Definition move := (N * N)%type. (* from part, to part *)
  Definition crosses (x : move) : bool := negb (fst x =? snd x)%N.
  Definition state := N -> node -> bool. (* which part knows whose contribution *)

  Definition made (x : move) (K : state) : state :=
    fun r s => K r s || ((r =? snd x)%N && K (fst x) s).
  Fixpoint run (l : list move) (K : state) : state :=
    match l with [] => K | x :: l' => run l' (made x K) end.

  Lemma run_app l1 l2 K : run (l1 ++ l2) K = run l2 (run l1 K).
  Proof. revert K. induction l1; cbn; auto. Qed.

  Lemma run_more l K r s : K r s = true -> run l K r s = true.
  Proof using.
    revert K. induction l as [|x l IH]; cbn; intros K H; [exact H|].
    apply IH. unfold made. rewrite H. reflexivity.
  Qed.

  Lemma run_in l K p q s : In (p, q) l -> K p s = true -> run l K q s = true.
  Proof using.
    revert K. induction l as [|x l IH]; cbn; intros K H Hp; [destruct H|]. destruct H as [->|H].
    - apply run_more. unfold made. cbn. rewrite Hp, N.eqb_refl, orb_true_r. reflexivity.
    - apply IH; [exact H|]. unfold made. rewrite Hp. reflexivity.
  Qed.

  Definition knows_all (K : state) (r : N) : bool := forallb (K r) contributors.

  (** The first part that knows all, in the order of the moves. *)
  Lemma first_part l K : (forall q, knows_all K q = false) -> (exists p, knows_all (run l K) p = true) ->
    exists l1 l2 p, l = l1 ++ l2 /\ knows_all (run l1 K) p = true /\
      forall q, knows_all (run l1 K) q = true -> q = p.
  Proof.
    revert K. induction l as [|[p q] l IH]; cbn; intros K Hno [r Hr]; [congruence|].
    assert (Hother : forall r, r <> q -> knows_all (made (p, q) K) r = false).
    { intros r' Hne. rewrite <- (Hno r'). unfold knows_all. clear -Hne.
      induction contributors as [|s l IH]; cbn; [reflexivity|]. rewrite IH. unfold made. cbn.
      rewrite (proj2 (N.eqb_neq r' q) Hne). cbn. rewrite orb_false_r. reflexivity. }
    destruct (knows_all (made (p, q) K) q) eqn:E.
    - exists [(p, q)], l, q. repeat split; auto. intros r' H'. cbn in H'.
      destruct (N.eq_dec r' q) as [|Hne]; [assumption|]. rewrite (Hother r' Hne) in H'. discriminate.
    - destruct (IH (made (p, q) K)) as [l1 [l2 [p' [-> H]]]].
      + intros r'. destruct (N.eq_dec r' q) as [->|Hne]; auto.
      + eauto.
      + exists ((p, q) :: l1), l2, p'. auto.
  Qed.

  (** What only one part knows leaves it by a move. *)
  Lemma has_sent_move l K g s : (forall q, K q s = true -> q = g) ->
    forall p, p <> g -> run l K p s = true -> exists x, In x l /\ crosses x = true /\ fst x = g.
  Proof.
    revert K. induction l as [|[a b] l IH]; cbn; intros K Hg p Hp H; [apply Hg in H; congruence|].
    destruct (crosses (a, b)) eqn:Ec, (N.eq_dec a g) as [->|Hne].
    - exists (g, b). auto.
    - destruct (IH (made (a, b) K)) with (p := p) as [x Hx]; auto; [|exists x; intuition].
      intros q Hq. unfold made in Hq. cbn in Hq. apply orb_true_iff in Hq as [Hq|Hq]; [auto|].
      apply andb_true_iff in Hq as [_ Hq]. apply Hg in Hq. congruence.
    - destruct (IH (made (g, b) K)) with (p := p) as [x Hx]; auto; [|exists x; intuition].
      unfold crosses in Ec. cbn in Ec. apply negb_false_iff, N.eqb_eq in Ec. subst b.
      intros q Hq. unfold made in Hq. cbn in Hq. apply orb_true_iff in Hq as [Hq|Hq]; [auto|].
      apply andb_true_iff in Hq as [Hq _]. apply N.eqb_eq in Hq. exact Hq.
    - destruct (IH (made (a, b) K)) with (p := p) as [x Hx]; auto; [|exists x; intuition].
      intros q Hq. unfold made in Hq. cbn in Hq. apply orb_true_iff in Hq as [Hq|Hq]; [auto|].
      apply andb_true_iff in Hq as [_ Hq]. apply Hg in Hq. congruence.
  Qed.

  (** A part that learns something receives a move. *)
  Lemma has_received l K q : knows_all K q = false -> knows_all (run l K) q = true ->
    exists x, In x l /\ crosses x = true /\ snd x = q.
  Proof.
    revert K. induction l as [|[a b] l IH]; cbn; intros K H H'; [congruence|].
    destruct (crosses (a, b)) eqn:Ec, (N.eq_dec b q) as [->|Hne].
    1: exists (a, q); auto.
    all: destruct (IH (made (a, b) K)) as [x Hx] || destruct (IH (made (a, q) K)) as [x Hx]; auto;
      try (exists x; intuition; fail).
    all: rewrite <- H; unfold knows_all; clear -Ec Hne || clear -Ec;
      induction contributors as [|s l' IH]; cbn; [reflexivity|]; rewrite IH; f_equal; unfold made; cbn.
    - rewrite (proj2 (N.eqb_neq q b)) by congruence. apply orb_false_r.
    - unfold crosses in Ec. cbn in Ec. apply negb_false_iff, N.eqb_eq in Ec. subst a.
      rewrite N.eqb_refl. cbn. destruct (K q s); reflexivity.
    - rewrite (proj2 (N.eqb_neq q b)) by congruence. apply orb_false_r.
  Qed.

  Definition start : state := fun r s => (part s =? r)%N.

  Lemma counted (f : move -> N) gs l : NoDup gs ->
    (forall g, In g gs -> exists x, In x l /\ crosses x = true /\ f x = g) ->
    (length gs <= length (filter crosses l))%nat.
  Proof.
    intros Hd H. rewrite <- (map_length f (filter crosses l)). apply NoDup_incl_length; [exact Hd|].
    intros g Hg. destruct (H g Hg) as [x [Hx [Hc <-]]]. apply in_map, filter_In. auto.
  Qed.

  Definition without (p : N) (l : list N) : list N := filter (fun q => negb (q =? p)%N) l.

  Lemma without_in p l q : In q (without p l) <-> In q l /\ q <> p.
  Proof.
    unfold without. rewrite filter_In, negb_true_iff, N.eqb_neq. tauto.
  Qed.

  Lemma without_same p l : ~ In p l -> without p l = l.
  Proof.
    intros H. apply filter_all. intros q Hq. apply negb_true_iff, N.eqb_neq. congruence.
  Qed.

  Lemma without_length p l : NoDup l -> (length l <= S (length (without p l)))%nat.
  Proof.
    induction 1 as [|q l Hq Hd IH]; [cbn; lia|]. unfold without in *. cbn [filter].
    destruct (N.eqb_spec q p) as [->|]; cbn [negb length]; [|lia].
    fold (without p l). rewrite without_same by exact Hq. lia.
  Qed.

  Theorem gossip l needed : contributors <> [] -> needed <> [] -> NoDup needed ->
    (forall q, In q needed -> knows_all (run l start) q = true) ->
    let given := nodup N.eq_dec (map part contributors) in
    (length given + length needed <= 2 + length (filter crosses l))%nat /\
    ((forall q, In q needed -> ~ In q given) ->
     (length given + length needed <= 1 + length (filter crosses l))%nat).
  Proof.
    intros Hc Hn Hd Hall given.
    assert (Hs0 : exists s0, In s0 contributors).
    { destruct contributors as [|s0 rest]; [congruence|]. exists s0. left. reflexivity. }
    destruct Hs0 as [s0 Hs0].
    assert (Huniq : forall q, knows_all start q = true -> q = part s0).
    { intros q H. unfold knows_all in H. rewrite forallb_forall in H.
      specialize (H s0 Hs0). unfold start in H. apply N.eqb_eq in H. auto. }
    assert (Hsplit : exists l1 l2 p, l = l1 ++ l2 /\ knows_all (run l1 start) p = true /\
      forall q, knows_all (run l1 start) q = true -> q = p).
    { destruct (knows_all start (part s0)) eqn:E.
      - exists [], l, (part s0). auto.
      - apply first_part.
        + intros q. destruct (knows_all start q) eqn:Eq; [|reflexivity].
          rewrite <- E. rewrite (Huniq q Eq) in Eq. congruence.
        + destruct needed as [|q needed]; [congruence|]. exists q. apply Hall. left. reflexivity. }
    destruct Hsplit as [l1 [l2 [p [-> [Hp Hfirst]]]]].
    assert (Hout : (length (without p given) <= length (filter crosses l1))%nat).
    { apply (counted fst); [apply NoDup_filter, NoDup_nodup|].
      intros g Hg. apply without_in in Hg as [Hg Hne]. unfold given in Hg.
      apply nodup_In, in_map_iff in Hg as [s [<- Hs]].
      apply (has_sent_move l1 start (part s) s) with (p := p); [|congruence|].
      - intros q H. unfold start in H. apply N.eqb_eq in H. auto.
      - unfold knows_all in Hp. rewrite forallb_forall in Hp. auto. }
    assert (Hin : (length (without p needed) <= length (filter crosses l2))%nat).
    { apply (counted snd); [apply NoDup_filter, Hd|].
      intros q Hq. apply without_in in Hq as [Hq Hne].
      apply (has_received l2 (run l1 start)).
      - destruct (knows_all (run l1 start) q) eqn:E; [apply Hfirst in E; congruence|reflexivity].
      - rewrite <- run_app. auto. }
    rewrite filter_app, app_length.
    pose proof (without_length p given (NoDup_nodup _ _)) as Hg.
    pose proof (without_length p needed Hd) as Hb. split; [lia|].
    intros Hdis. destruct (in_dec N.eq_dec p needed) as [Hpn|Hpn].
    - rewrite (without_same p given) in Hout by (apply Hdis; exact Hpn). lia.
    - rewrite (without_same p needed) in Hin by exact Hpn. lia.
  Qed.
End Gossip.

(** ** The sends of a chunk *)

Section Chunk.
  Variables (m : machine) (chunks : list chunk) (a : algorithm) (part : node -> N).
  Hypothesis ok : valid chunks a m true.
  Variables (i : nat) (x : chunk).
  Hypothesis is_x : nth_error chunks i = Some x.
  Let c := N.of_nat i.

  Definition between (e : send) : move := (part (from e), part (to e)).

  (** The sends of the chunk, step by step. *)
  Fixpoint in_order (n : nat) : list send :=
    match n with
    | O => []
    | S n' => in_order n' ++ filter (fun e => (step e =? n')%nat) (own (sends a) i)
    end.

  Lemma in_order_total f n :
    total f (in_order n) = total f (filter (fun e => (step e <? n)%nat) (own (sends a) i)).
  Proof.
    induction n as [|n IH]; cbn [in_order].
    - rewrite filter_none by auto. reflexivity.
    - rewrite (below_S step f _ n), total_app, IH. reflexivity.
  Qed.

  Lemma run_knows t v s : knows chunks a c s t v ->
    run (map between (in_order t)) (start part) (part v) s = true.
  Proof.
    revert v. induction t as [|t IH]; intros v H.
    - apply (knows_O chunks a) in H as [-> _]. cbn. unfold start. apply N.eqb_refl.
    - cbn [in_order]. rewrite map_app, run_app.
      apply (knows_S m chunks a ok) in H as [H|[e [He [Ht [<- H]]]]]; [apply run_more, (IH _ H)|].
      refine (run_in _ _ (part (from e)) _ _ _ (IH _ H)).
      apply in_map_iff. exists e. split; [reflexivity|]. apply filter_In.
      unfold c in He. rewrite Nat2N.id in He. split; [exact He|]. apply Nat.eqb_eq, Ht.
  Qed.

  Definition parts_of (vs : list node) : list N := nodup N.eq_dec (map part vs).

  (** The number of sends between parts that the chunk needs. *)
  Definition needs (y : chunk) (moved : bool) : Z :=
    let given := parts_of (pre y) in
    let needed := parts_of (post y) in
    match given, needed with
    | [], _ | _, [] => 0
    | _, _ =>
        Z.of_nat (length given) + Z.of_nat (length needed) - 2
        + (if moved && negb (existsb (fun q => mem q given) needed) then 1 else 0)
    end.

  Lemma chunk_needs moved :
    needs x moved <= total (fun e => if crosses (between e) then 1 else 0) (own (sends a) i).
  Proof.
    set (count := total _ _).
    assert (H0 : 0 <= count) by (apply total_nonneg; intros; destruct (crosses _); lia).
    unfold needs.
    destruct (parts_of (pre x)) as [|g gs] eqn:Eg; [exact H0|].
    destruct (parts_of (post x)) as [|q qs] eqn:Eq; [exact H0|]. rewrite <- Eg, <- Eq. clear H0.
    assert (Hx : is_chunk chunks c x) by (unfold is_chunk, c; rewrite Nat2N.id; exact is_x).
    destruct (gossip part (pre x) (map between (in_order (steps a))) (parts_of (post x))) as [G1 G2].
    - intros E. rewrite E in Eg. discriminate.
    - rewrite Eq. discriminate.
    - apply NoDup_nodup.
    - intros r Hr. apply nodup_In, in_map_iff in Hr as [d [<- Hd]].
      unfold knows_all. rewrite forallb_forall. intros s Hs. apply run_knows.
      apply (forms_knows chunks a) with (X := pre x); [|exact Hs].
      exact (post_valid _ _ _ _ ok _ _ _ Hx Hd).
    - fold (parts_of (pre x)) in G1, G2.
      assert (Ec : Z.of_nat (length (filter crosses (map between (in_order (steps a))))) <= count).
      { transitivity (total (fun e => if crosses (between e) then 1 else 0) (in_order (steps a))).
        - clear G1 G2. induction (in_order (steps a)) as [|e l IH]; cbn [map filter total]; [cbn; lia|].
          destruct (crosses (between e)); cbn [length]; lia.
        - rewrite in_order_total. apply total_filter_le. intros; destruct (crosses _); lia. }
      destruct (moved && negb _) eqn:E; [|lia].
      apply andb_true_iff in E as [_ E]. apply negb_true_iff in E.
      assert (Hdis : forall q, In q (parts_of (post x)) -> ~ In q (parts_of (pre x))).
      { intros r Hr Hin. apply not_true_iff_false in E. apply E.
        apply existsb_exists. exists r. split; [exact Hr|]. apply mem_in. exact Hin. }
      specialize (G2 Hdis). lia.
  Qed.
End Chunk.
