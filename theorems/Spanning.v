(** * Certificates by trees: each with a part of the prices

    A tree leads from where a chunk starts to all nodes that need it; or, for a sum, from all its
    contributors into a node that needs it. The latter is a tree backwards in time. One tree stands
    for its images under maps of the nodes that take links to links: they cost the same. *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool Permutation.
From Syncoll Require Import Definitions Sums Paths Prices Shares Trees Informed.
Import ListNotations.
Open Scope Z_scope.

(** ** Images *)

Definition cheapest_tree (ls : list link) (tab : table) (sources gs : list node) : Z :=
  if (length gs <=? 10)%nat then tree_cost ls tab sources gs else tree_cost_of_sets ls tab sources gs.

(** Where a node goes; nodes that a list lacks stay. *)
Definition goes (h : list node) (v : node) : node := nth (N.to_nat v) h v.
Definition goes_link (h : list node) (l : link) : link := (goes h (fst l), goes h (snd l)).

Lemma image_pays h ls tab sources gs moves (reaches : nat -> node -> Prop) n :
  nonneg tab = true ->
  (forall l, In l ls -> In (goes_link h l) ls) ->
  (forall v, reaches O v -> In (goes h v) sources) ->
  (forall t v, reaches (S t) v -> reaches t v \/
     exists e, In e moves /\ step e = t /\ to e = v /\ reaches t (from e)) ->
  (forall e, In e moves -> In (from e, to e) ls /\ (step e < length tab)%nat) ->
  (forall g, In g gs -> exists v, goes h v = g /\ reaches n v) ->
  cheapest_tree ls tab sources gs <=
    total (cost (fun t l => price_in ls (Some (length tab)) tab t (goes_link h l))) moves.
Proof.
  intros Hpos Hclosed Hfirst Hspread Hmoves Hgoal.
  set (image := fun e => Send (what e) (goes h (from e)) (goes h (to e)) (step e) []).
  set (there := fun t v => exists w, goes h w = v /\ reaches t w).
  replace (total _ moves)
    with (total (cost (price_in ls (Some (length tab)) tab)) (map image moves)).
  2: { clear. induction moves as [|e l IH]; cbn [map total]; [reflexivity|]. rewrite IH. reflexivity. }
  assert (F : forall v, there O v -> In v sources) by (intros v [w [<- H]]; auto).
  assert (Sp : forall t v, there (S t) v -> there t v \/
    exists e, In e (map image moves) /\ step e = t /\ to e = v /\ there t (from e)).
  { intros t v [w [<- H]]. apply Hspread in H as [H|[e [He [E1 [E2 H]]]]]; [left; exists w; auto|].
    right. exists (image e). split; [apply in_map, He|]. unfold image. cbn [step to from].
    rewrite E2. repeat split; auto. exists (from e). auto. }
  assert (M : forall e, In e (map image moves) -> In (from e, to e) ls /\ (step e < length tab)%nat).
  { intros e He. apply in_map_iff in He as [e' [<- He]]. destruct (Hmoves e' He) as [H1 H2].
    split; [exact (Hclosed _ H1)|exact H2]. }
  unfold cheapest_tree. destruct (length gs <=? 10)%nat.
  - apply tree_pays with (reaches := there) (n := n); auto.
  - apply tree_pays_by_sets with (reaches := there) (n := n); auto.
Qed.

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

  Lemma back_costs ls tab h : length tab = n ->
    total (cost (fun t l => price_in (map turned ls) (Some n) (rev tab) t (goes_link h l)))
        (map back moves)
      = total (cost (fun t l => price_in ls (Some n) tab t (goes_link h l))) moves.
  Proof.
    intros Hn.
    transitivity (total (fun e => cost (fun t l =>
      price_in (map turned ls) (Some n) (rev tab) t (goes_link h l)) (back e)) moves).
    { clear. induction moves as [|e l IH]; cbn [map total]; congruence. }
    apply total_ext. intros e He. specialize (in_time e He).
    unfold cost, price_in, row_of, back. cbn [step from to].
    change (goes_link h (to e, from e)) with (turned (goes_link h (from e, to e))).
    rewrite entry_turned, rev_nth by lia. do 2 f_equal. lia.
  Qed.
End Backwards.

(** ** Trees *)

(** A tree of the chunks [spanning], out of the node [root] or [inward], with a part of the prices.
    Chunks that are not sums start at all nodes of [pre], and [root] has no meaning. An image has its
    own root, and the node of the tree that each of its nodes stands for. *)
Record tree := Tree {
  spanning : chunk; root : node; inward : bool; portion : table; images : list (node * list node) }.

Section Spanning.
  Variables (m : machine) (k : collective) (s : nat).
  Notation ls := (links m).

  Definition others (vs except : list node) : list node := filter (fun v => negb (mem v except)) vs.
  Definition starts (t : tree) : list node :=
    if inward t then [root t] else origins k (spanning t) (root t).
  Definition all_ends (t : tree) : list node :=
    if inward t then pre (spanning t) else post (spanning t).
  Definition ends (t : tree) : list node := others (all_ends t) (starts t).

  Definition cost_of_tree (t : tree) : Z :=
    if inward t
    then cheapest_tree (map turned ls) (rev (portion t)) (starts t) (ends t)
    else cheapest_tree ls (portion t) (starts t) (ends t).

  Definition pays_image (t : tree) (z : Z) (image : node * list node) : option paid :=
    let (r, h) := image in
    let x := spanning t in
    let sources := if inward t then [r] else origins k x r in
    if forallb (fun l => existsb (link_eqb (goes_link h l)) ls) ls
      && (if inward t then combining k && mem r (post x) else negb (combining k) || mem r (pre x))
      && forallb (fun v => mem (goes h v) (starts t)) sources
      && forallb (fun g => mem g (map (goes h) (all_ends t))) (ends t)
    then Some (x, (table_of ls s (fun u l => price_in ls (Some s) (portion t) u (goes_link h l)), z))
    else None.

  (** Each more of these nodes takes three times as long. *)
  Definition is_affordable (t : tree) : bool :=
    (length (ends t) <=? 10)%nat
    || (length (without (if inward t then map turned ls else ls) (starts t)) <=? 15)%nat.

  Definition pays_tree (t : tree) : option (list paid) :=
    if nonneg (portion t) && (length (portion t) =? s)%nat
      && negb (length (ends t) =? 0)%nat && is_affordable t
    then
      let z := cost_of_tree t in
      if z <? far_of (portion t) then all_some (map (pays_image t z) (images t)) else None
    else None.

  Lemma pays_tree_sound t l x tab z : pays_tree t = Some l -> In (x, (tab, z)) l ->
    is_paid m k (Some s) x tab z.
  Proof.
    unfold pays_tree. destruct (_ && _) eqn:E; [|discriminate]. intros Hl Hin.
    rewrite !andb_true_iff in E. destruct E as [[[Hpos Hlen] _] _]. apply Nat.eqb_eq in Hlen.
    cbv zeta in Hl. destruct (_ <? _); [|discriminate].
    apply (all_some_in _ _ _ Hl) in Hin. apply in_map_iff in Hin as [[r h] [H _]]. clear l Hl.
    unfold pays_image in H. destruct (_ && _) eqn:E; [|discriminate]. injection H as <- <- <-.
    rewrite !andb_true_iff, !forallb_forall in E. destruct E as [[[Hclosed Hend] Hstart] Hends].
    intros chunks a Hok Hs i Hi. set (x := spanning t) in *.
    assert (Hx : is_chunk chunks (N.of_nat i) x) by (unfold is_chunk; rewrite Nat2N.id; exact Hi).
    assert (Hown : forall e, In e (own (sends a) i) -> In (from e, to e) ls /\ (step e < s)%nat).
    { intros e He. apply filter_In in He as [He _].
      destruct (sends_valid _ _ _ _ Hok e He) as [Hl Ht]. split; [exact Hl|lia]. }
    rewrite (total_ext _ (cost (fun u l => price_in ls (Some s) (portion t) u (goes_link h l)))).
    2: { intros e He. destruct (Hown e He) as [H1 H2]. unfold cost. rewrite table_of_price; auto. }
    assert (Closed : forall l, In l ls -> In (goes_link h l) ls).
    { intros l Hl. specialize (Hclosed l Hl). apply existsb_exists in Hclosed as [l' [Hl' El]].
      apply link_eqb_eq in El. rewrite El. exact Hl'. }
    assert (Ends : forall g, In g (ends t) -> exists v, goes h v = g /\ In v (all_ends t)).
    { intros g Hg. specialize (Hends g Hg). apply mem_in, in_map_iff in Hends. exact Hends. }
    unfold cost_of_tree, all_ends in *. fold x in Ends, Hstart. fold x. unfold starts in Hstart.
    destruct (inward t) eqn:Ein.
    - apply andb_true_iff in Hend as [Hk Hd]. apply mem_in in Hd. rewrite Hk in Hok.
      rewrite <- (back_costs (own (sends a) i) s) by (assumption || intros e He; apply Hown, He).
      rewrite <- Hlen, <- (rev_length (portion t)).
      apply image_pays with (n := s)
        (reaches := fun t v => leads (own (sends a) i) r (s - t) v); auto using nonneg_rev.
      + intros l Hl. apply in_map_iff in Hl as [l' [<- Hl]].
        change (goes_link h (turned l')) with (turned (goes_link h l')). apply in_map, Closed, Hl.
      + intros v H. unfold starts. rewrite Ein.
        apply (leads_last (own (sends a) i) s r (fun e He => proj2 (Hown e He)) (s - 0) v) in H; [|lia].
        subst v. apply mem_in, Hstart. left. reflexivity.
      + rewrite rev_length, Hlen. intros u v H. exact (leads_back (own (sends a) i) s r u v H).
      + rewrite rev_length, Hlen. intros e He. apply in_map_iff in He as [e' [<- He]].
        destruct (Hown e' He) as [Hl Ht]. unfold back. cbn [from to step]. split; [|lia].
        change (to e', from e') with (turned (from e', to e')). apply in_map, Hl.
      + intros g Hg. destruct (Ends g Hg) as [c [<- Hc]]. exists c. split; [reflexivity|].
        rewrite Nat.sub_diag.
        assert (G : forall u v, knows chunks a (N.of_nat i) c u v ->
          leads (own (sends a) i) r u v -> leads (own (sends a) i) r 0 c).
        { induction u as [|u IH]; intros v Hk' Hl.
          - apply (knows_O chunks a) in Hk' as [-> _]. exact Hl.
          - apply (knows_S m chunks a Hok) in Hk' as [H|[e [He [Ht [Hto H]]]]].
            + apply (IH v H). apply leads_on, Hl.
            + apply (IH (from e) H). rewrite Nat2N.id in He. rewrite <- Ht. apply leads_sent; [exact He|].
              rewrite Ht, Hto. exact Hl. }
        apply (G (steps a) r); [|apply leads_end].
        apply (forms_knows chunks a) with (X := pre x); [|exact Hc].
        exact (post_valid _ _ _ _ Hok _ _ _ Hx Hd).
    - rewrite <- Hlen. unfold starts, origins in *. rewrite Ein.
      destruct (combining k) eqn:Hk; cbn [negb orb] in Hend.
      + apply mem_in in Hend.
        apply image_pays with (n := steps a)
          (reaches := fun t' v => knows chunks a (N.of_nat i) r t' v); auto.
        * intros v H. apply (knows_O chunks a) in H as [-> _]. apply mem_in, Hstart. left. reflexivity.
        * intros u v H. apply (knows_S m chunks a Hok) in H. rewrite Nat2N.id in H. exact H.
        * rewrite Hlen. exact Hown.
        * intros g Hg. destruct (Ends g Hg) as [v [<- Hv]]. exists v. split; [reflexivity|].
          apply (forms_knows chunks a) with (X := pre x); [|exact Hend].
          exact (post_valid _ _ _ _ Hok _ _ _ Hx Hv).
      + apply image_pays with (n := steps a)
          (reaches := fun t' v => holds chunks a t' (N.of_nat i) v); auto.
        * intros v H. apply holds_O in H as [y [Hy Hv]]. apply mem_in, Hstart.
          unfold is_chunk in *. congruence.
        * intros u v H. apply holds_S in H. rewrite Nat2N.id in H. exact H.
        * rewrite Hlen. exact Hown.
        * intros g Hg. destruct (Ends g Hg) as [v [<- Hv]]. exists v. split; [reflexivity|].
          exact (post_valid _ _ _ _ Hok _ _ _ Hx Hv).
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
