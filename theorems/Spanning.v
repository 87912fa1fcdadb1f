(** * Certificates by trees: each with a part of the prices

    A tree leads from where a chunk starts to all nodes that need it; or, for a sum, from all its
    contributors into a node that needs it. The latter is a tree backwards in time. *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool Permutation.
From Syncoll Require Import Definitions Sums Paths Prices Shares Trees.
Import ListNotations.
Open Scope Z_scope.

(** ** Backwards in time *)

Definition turned (l : link) : link := (snd l, fst l).

Lemma entry_turned ls row l : entry (map turned ls) row (turned l) = entry ls row l.
Proof.
  unfold entry. f_equal. induction ls as [|[a b] ls IH]; [reflexivity|]. destruct l as [v w].
  cbn [map position turned fst snd]. unfold link_eqb in *. cbn [fst snd] in *.
  rewrite (andb_comm (b =? w)%N). destruct (_ && _); [reflexivity|]. f_equal. exact IH.
Qed.

Lemma nonneg_rev tab : nonneg tab = true -> nonneg (rev tab) = true.
Proof. unfold nonneg. rewrite !forallb_forall. intros H row Hr. apply H, in_rev, Hr. Qed.

Section Backwards.
  Variables (moves : list send) (n : nat) (d : node).

  (** The data of node v before step t gets to node d. *)
  Inductive leads : nat -> node -> Prop :=
  | leads_end t : leads t d
  | leads_on t v : leads (S t) v -> leads t v
  | leads_sent e : In e moves -> leads (S (step e)) (to e) -> leads (step e) (from e).

  Definition back (e : send) : send := Send (what e) (to e) (from e) (n - 1 - step e) [].

  Hypothesis in_time : forall e, In e moves -> (step e < n)%nat.

  Lemma leads_last t v : leads t v -> (n <= t)%nat -> v = d.
  Proof.
    induction 1 as [|t v H IH|e He H IH]; intros Ht; [reflexivity|apply IH; lia|].
    specialize (in_time e He). lia.
  Qed.

  Lemma leads_back t v : leads (n - S t) v -> leads (n - t) v \/
    exists e, In e (map back moves) /\ step e = t /\ to e = v /\ leads (n - t) (from e).
  Proof.
    destruct (Nat.ltb_spec t n) as [Ht|Ht]; [|replace (n - S t)%nat with (n - t)%nat by lia; auto].
    replace (n - t)%nat with (S (n - S t)) by lia.
    intros H. inversion H as [u E1 E2|u w H' E1 E2|e He H' E1 E2].
    - left. rewrite <- E2. apply leads_end.
    - left. exact H'.
    - right. exists (back e). split; [apply in_map, He|]. unfold back. cbn [step to from].
      repeat split; [lia|exact H'].
  Qed.

  Lemma back_costs ls tab : length tab = n ->
    total (cost (price_in (map turned ls) (Some n) (rev tab))) (map back moves)
      = total (cost (price_in ls (Some n) tab)) moves.
  Proof.
    intros Hn.
    transitivity (total (fun e => cost (price_in (map turned ls) (Some n) (rev tab)) (back e)) moves).
    { clear. induction moves as [|e l IH]; cbn [map total]; congruence. }
    apply total_ext. intros e He. specialize (in_time e He).
    unfold cost, price_in, row_of, back. cbn [step from to].
    change (to e, from e) with (turned (from e, to e)). rewrite entry_turned.
    rewrite rev_nth by lia. do 2 f_equal. lia.
  Qed.
End Backwards.

(** ** Trees *)

(** A tree of the chunks [spanning], out of the node [root] or [inward], with a part of the prices.
    Chunks that are not sums start at all nodes of [pre], and [root] has no meaning. *)
Record tree := Tree { spanning : chunk; root : node; inward : bool; portion : table }.

Section Spanning.
  Variables (m : machine) (k : collective) (s : nat).

  Definition others (vs except : list node) : list node := filter (fun v => negb (mem v except)) vs.

  Definition starts (t : tree) : list node :=
    if inward t then [root t] else origins k (spanning t) (root t).
  Definition ends (t : tree) : list node :=
    others (if inward t then pre (spanning t) else post (spanning t)) (starts t).

  Definition cost_of_tree (t : tree) : Z :=
    if inward t
    then tree_cost (map turned (links m)) (rev (portion t)) (starts t) (ends t)
    else tree_cost (links m) (portion t) (starts t) (ends t).

  Definition pays_tree (t : tree) : option paid :=
    let x := spanning t in
    let z := cost_of_tree t in
    if nonneg (portion t) && (length (portion t) =? s)%nat
      && (if inward t then combining k && mem (root t) (post x)
          else negb (combining k) || mem (root t) (pre x))
      && negb (length (ends t) =? 0)%nat && (z <? far_of (portion t))
    then Some (x, (portion t, z)) else None.

  Lemma pays_tree_sound t x tab z : pays_tree t = Some (x, (tab, z)) -> is_paid m k (Some s) x tab z.
  Proof.
    unfold pays_tree. destruct (_ && _) eqn:E; [|discriminate]. intros H. injection H as <- <- <-.
    rewrite !andb_true_iff in E. destruct E as [[[[Hpos Hlen] Hend] _] _]. apply Nat.eqb_eq in Hlen.
    intros chunks a Hok Hs i Hi. set (x := spanning t) in *.
    assert (Hx : is_chunk chunks (N.of_nat i) x) by (unfold is_chunk; rewrite Nat2N.id; exact Hi).
    assert (Hown : forall e, In e (own (sends a) i) ->
      In (from e, to e) (links m) /\ (step e < s)%nat).
    { intros e He. apply filter_In in He as [He _].
      destruct (sends_valid _ _ _ _ Hok e He) as [Hl Ht]. split; [exact Hl|lia]. }
    unfold cost_of_tree, ends, starts. fold x. destruct (inward t).
    - apply andb_true_iff in Hend as [Hk Hd]. apply mem_in in Hd. rewrite Hk in Hok.
      set (d := root t) in *.
      rewrite <- (back_costs (own (sends a) i) s) by (assumption || intros e He; apply Hown, He).
      rewrite <- Hlen, <- (rev_length (portion t)).
      apply tree_pays with (n := s)
        (reaches := fun t v => leads (own (sends a) i) d (s - t) v); auto using nonneg_rev.
      + intros v H. left. symmetry.
        apply (leads_last (own (sends a) i) s d (fun e He => proj2 (Hown e He)) (s - 0) v H). lia.
      + rewrite rev_length, Hlen. intros u v H.
        exact (leads_back (own (sends a) i) s d u v H).
      + rewrite rev_length, Hlen. intros e He. apply in_map_iff in He as [e' [<- He]].
        destruct (Hown e' He) as [Hl Ht]. unfold back. cbn [from to step]. split; [|lia].
        change (to e', from e') with (turned (from e', to e')). apply in_map, Hl.
      + intros g Hg. apply filter_In in Hg as [Hg _]. rewrite Nat.sub_diag.
        assert (G : forall u v, knows chunks a (N.of_nat i) g u v ->
          leads (own (sends a) i) d u v -> leads (own (sends a) i) d 0 g).
        { induction u as [|u IH]; intros v Hk' Hl.
          - apply (knows_O chunks a) in Hk' as [-> _]. exact Hl.
          - apply (knows_S m chunks a Hok) in Hk' as [H|[e [He [Ht [Hto H]]]]].
            + apply (IH v H). apply leads_on, Hl.
            + apply (IH (from e) H). rewrite Nat2N.id in He. rewrite <- Ht. apply leads_sent; [exact He|].
              rewrite Ht, Hto. exact Hl. }
        apply (G (steps a) d); [|apply leads_end].
        apply (forms_knows chunks a) with (X := pre x); [|exact Hg].
        exact (post_valid _ _ _ _ Hok _ _ _ Hx Hd).
    - rewrite <- Hlen. unfold origins.
      destruct (combining k) eqn:Hk; cbn [negb orb] in Hend.
      + apply mem_in in Hend.
        apply tree_pays with (n := steps a)
          (reaches := fun t' v => knows chunks a (N.of_nat i) (root t) t' v); auto.
        * intros v H. left. apply (knows_O chunks a) in H as [-> _]. reflexivity.
        * intros u v H. apply (knows_S m chunks a Hok) in H. rewrite Nat2N.id in H. exact H.
        * rewrite Hlen. exact Hown.
        * intros g Hg. apply filter_In in Hg as [Hg _].
          apply (forms_knows chunks a) with (X := pre x); [|exact Hend].
          exact (post_valid _ _ _ _ Hok _ _ _ Hx Hg).
      + apply tree_pays with (n := steps a)
          (reaches := fun t' v => holds chunks a t' (N.of_nat i) v); auto.
        * intros v H. apply holds_O in H as [y [Hy Hv]]. unfold is_chunk in *. congruence.
        * intros u v H. apply holds_S in H. rewrite Nat2N.id in H. exact H.
        * rewrite Hlen. exact Hown.
        * intros g Hg. apply filter_In in Hg as [Hg _]. exact (post_valid _ _ _ _ Hok _ _ _ Hx Hg).
  Qed.
End Spanning.

(** ** Payments in whole sends

    If all prices are multiples of a number, so is the cost of any sends. *)

Section Multiples.
  Variables (ls : list link) (most : option nat) (tab : table) (unit : Z).

  Definition all_multiples : bool := forallb (forallb (fun z => z mod unit =? 0)) tab.

  Definition rounded (z : Z) : Z :=
    if (0 <? unit) && all_multiples then (z + unit - 1) / unit * unit else z.

  Lemma rounded_le z moves : z <= total (cost (price_in ls most tab)) moves ->
    rounded z <= total (cost (price_in ls most tab)) moves.
  Proof.
    unfold rounded. destruct (_ && _) eqn:E; [|auto]. apply andb_true_iff in E as [Hu H].
    apply Z.ltb_lt in Hu. unfold all_multiples in H. rewrite forallb_forall in H.
    assert (D : exists q, total (cost (price_in ls most tab)) moves = q * unit).
    { induction moves as [|e l [q IH]]; cbn [total]; [exists 0; lia|].
      assert (G : forall i j, exists p, nth j (nth i tab []) 0 = p * unit).
      { intros i j. destruct (nth_in_or_default i tab []) as [Hr| ->];
          [|exists 0; destruct j; reflexivity].
        specialize (H _ Hr). rewrite forallb_forall in H.
        destruct (nth_in_or_default j (nth i tab []) 0) as [Hz| ->]; [|exists 0; lia].
        specialize (H _ Hz). apply Z.eqb_eq in H. apply Z.mod_divide in H as [p Hp]; [|lia].
        exists p. exact Hp. }
      assert (P : exists p, cost (price_in ls most tab) e = p * unit).
      { unfold cost, price_in, entry, row_of. destruct most; apply G. }
      destruct P as [p ->]. exists (p + q). rewrite IH. lia. }
    destruct D as [q ->]. intros Hz. apply Z.mul_le_mono_nonneg_r; [lia|].
    apply Z.lt_succ_r. apply Z.div_lt_upper_bound; nia.
  Qed.
End Multiples.
