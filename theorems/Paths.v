(** * Cheapest paths: sends of a chunk cost at least its cheapest path

    Under prices of links in steps, let [cost t v] be at most the price of any path from node v, in
    step t or later, to a goal. If a node has the data before step t, some sends before t, at most one
    in each step, and [cost t] of the node together cost at least what the cheapest start costs. *)

From Coq Require Import List NArith ZArith Lia Arith Bool FMapPositive.
From Syncoll Require Import Definitions Sums.
Import ListNotations.
Open Scope Z_scope.

(** ** The argument *)

(** Some of the sends, at most one in each step, cost at least z. *)
Definition is_path_in (moves : list send) (f : send -> Z) (z : Z) : Prop :=
  exists path, incl path moves /\ NoDup (map step path) /\ z <= total f path.

Lemma path_in_all moves f z : (forall e, In e moves -> 0 <= f e) -> is_path_in moves f z ->
  z <= total f moves.
Proof.
  intros Hf [path [Hin [Hd H]]]. etransitivity; [exact H|]. apply total_incl; auto.
  apply NoDup_map_inv in Hd. exact Hd.
Qed.

Section Spread.
  Variables (moves : list send) (reaches : nat -> node -> Prop).
  Variables (price : nat -> link -> Z) (potential : nat -> node -> Z) (least : Z).

  Hypothesis first : forall v, reaches 0 v -> least <= potential 0 v.
  Hypothesis spreads : forall t v, reaches (S t) v -> reaches t v \/
    exists e, In e moves /\ step e = t /\ to e = v /\ reaches t (from e).
  Hypothesis waits : forall t v, potential t v <= potential (S t) v.
  Hypothesis over_link : forall e, In e moves ->
    potential (step e) (from e) <= price (step e) (from e, to e) + potential (S (step e)) (to e).

  Lemma reached_costs t v : reaches t v -> exists path,
    incl path moves /\ NoDup (map step path) /\ (forall e, In e path -> (step e < t)%nat) /\
    least <= total (cost price) path + potential t v.
  Proof.
    revert v. induction t as [|t IH]; intros v Hv.
    - exists []. split; [intros ? []|]. split; [constructor|]. split; [intros ? []|]. cbn. auto.
    - destruct (spreads _ _ Hv) as [H|[e [He [Ht [Hto H]]]]]; apply IH in H as [path [Hin [Hd [Hs H]]]].
      + exists path. repeat split; auto; [|specialize (waits t v); lia].
        intros e He. specialize (Hs e He). lia.
      + exists (e :: path). split; [intros x [<-|Hx]; auto|]. split; [|split].
        * cbn. constructor; [|exact Hd]. intros E. apply in_map_iff in E as [x [E Hx]].
          apply Hs in Hx. lia.
        * intros x [<-|Hx]; [lia|]. apply Hs in Hx. lia.
        * specialize (over_link e He). rewrite Ht, Hto in over_link. cbn [total].
          unfold cost at 1. rewrite Ht, Hto. lia.
  Qed.

  Lemma goal_costs t v : reaches t v -> potential t v <= 0 -> is_path_in moves (cost price) least.
  Proof.
    intros H Hv. apply reached_costs in H as [path [Hin [Hd [_ H]]]]. exists path.
    repeat split; auto. lia.
  Qed.
End Spread.

(** ** The computation: prices are rows, one entry for each link of the machine *)

Definition costs := PositiveMap.t Z.
Definition get (far : Z) (c : costs) (v : node) : Z :=
  match PositiveMap.find (N.succ_pos v) c with Some x => x | None => far end.
Definition put (v : node) (x : Z) (c : costs) : costs := PositiveMap.add (N.succ_pos v) x c.

Lemma succ_pos_inj v w : N.succ_pos v = N.succ_pos w -> v = w.
Proof. intros H. apply N.succ_inj. rewrite <- !N.succ_pos_spec. congruence. Qed.

Lemma get_put far v x c w : get far (put v x c) w = if (v =? w)%N then x else get far c w.
Proof.
  unfold get, put. destruct (N.eqb_spec v w) as [->|Hne].
  - rewrite PositiveMap.gss. reflexivity.
  - rewrite PositiveMap.gso; [reflexivity|]. intros E. apply Hne. symmetry. apply succ_pos_inj, E.
Qed.

(** The position of a link, and its entry in a row; entries that a row lacks are 0. *)
Fixpoint position (ls : list link) (l : link) : nat :=
  match ls with [] => O | x :: ls' => if link_eqb x l then O else S (position ls' l) end.
Definition entry (ls : list link) (row : list Z) (l : link) : Z := nth (position ls l) row 0.

Lemma link_eqb_eq x y : link_eqb x y = true <-> x = y.
Proof.
  destruct x, y. unfold link_eqb. cbn. rewrite andb_true_iff, !N.eqb_eq. split; [|injection 1; auto].
  intros [-> ->]. reflexivity.
Qed.

Section Computed.
  Variables (far : Z) (ls : list link).
  Notation get := (get far).

  (** Puts a link in front of each path: [after] are the costs after the step. *)
  Fixpoint relax (ls : list link) (row : list Z) (after now : costs) : costs :=
    match ls with
    | [] => now
    | (v, w) :: ls' =>
        let x := hd 0 row + get after w in
        relax ls' (tl row) after (if x <? get now v then put v x now else now)
    end.

  Lemma relax_le ls' row after now v : get (relax ls' row after now) v <= get now v.
  Proof.
    revert row now. induction ls' as [|[a b] ls' IH]; intros row now; cbn; [lia|].
    etransitivity; [apply IH|].
    destruct (Z.ltb_spec (hd 0 row + get after b) (get now a)); [|lia].
    rewrite get_put. destruct (N.eqb_spec a v) as [->|]; lia.
  Qed.

  Lemma nth_tl (row : list Z) i : nth i (tl row) 0 = nth (S i) row 0.
  Proof. destruct row; [destruct i|]; reflexivity. Qed.

  Lemma relax_link ls' row after now v w : In (v, w) ls' ->
    get (relax ls' row after now) v <= entry ls' row (v, w) + get after w.
  Proof.
    revert row now. induction ls' as [|[a b] ls' IH]; intros row now H; [destruct H|].
    unfold entry. cbn [relax position]. destruct (link_eqb (a, b) (v, w)) eqn:E.
    - apply link_eqb_eq in E. injection E as -> ->.
      etransitivity; [apply relax_le|].
      replace (nth 0 row 0) with (hd 0 row) by (destruct row; reflexivity).
      destruct (Z.ltb_spec (hd 0 row + get after w) (get now v)); [|lia].
      rewrite get_put, N.eqb_refl. lia.
    - destruct H as [H|H]; [apply link_eqb_eq in H; congruence|].
      specialize (IH (tl row) (if hd 0 row + get after b <? get now a
        then put a (hd 0 row + get after b) now else now) H).
      unfold entry in IH. rewrite nth_tl in IH. exact IH.
  Qed.

  (** With a row for each step. *)
  Fixpoint timed (goal : node) (rows : list (list Z)) : costs :=
    match rows with
    | [] => put goal 0 (PositiveMap.empty Z)
    | row :: rows' => let after := timed goal rows' in relax ls row after after
    end.

  Lemma timed_goal goal rows : get (timed goal rows) goal <= 0.
  Proof.
    induction rows as [|row rows IH]; cbn.
    - rewrite get_put, N.eqb_refl. lia.
    - etransitivity; [apply relax_le|exact IH].
  Qed.

  (** With one row for all steps: extended until nothing changes, which is then checked. *)
  Fixpoint extended (row : list Z) (n : nat) (c : costs) : costs :=
    match n with O => c | S n' => extended row n' (relax ls row c c) end.

  Definition settled (goal : node) (row : list Z) (nodes : nat) : costs :=
    extended row nodes (put goal 0 (PositiveMap.empty Z)).

  Fixpoint is_settled (ls : list link) (row : list Z) (c : costs) : bool :=
    match ls with
    | [] => true
    | (v, w) :: ls' => (get c v <=? hd 0 row + get c w) && is_settled ls' (tl row) c
    end.

  Lemma settled_goal goal row n : get (settled goal row n) goal <= 0.
  Proof.
    unfold settled. set (c := put goal 0 _).
    assert (H : get c goal <= 0) by (unfold c; rewrite get_put, N.eqb_refl; lia).
    revert H. generalize c as d. induction n as [|n IH]; intros d H; cbn; [exact H|].
    apply IH. etransitivity; [apply relax_le|exact H].
  Qed.

  Lemma settled_link ls' row c v w : is_settled ls' row c = true -> In (v, w) ls' ->
    get c v <= entry ls' row (v, w) + get c w.
  Proof.
    revert row. induction ls' as [|[a b] ls' IH]; intros row H Hin; [destruct Hin|].
    cbn in H. apply andb_true_iff in H as [H1 H2]. apply Z.leb_le in H1.
    unfold entry. cbn [position]. destruct (link_eqb (a, b) (v, w)) eqn:E.
    - apply link_eqb_eq in E. injection E as -> ->. destruct row; exact H1.
    - destruct Hin as [Hin|Hin]; [apply link_eqb_eq in Hin; congruence|].
      specialize (IH _ H2 Hin). unfold entry in IH. rewrite nth_tl in IH. exact IH.
  Qed.
End Computed.

(** ** Tables: rows for each step, or one row for all *)

Definition table := list (list Z).

(** The row of a step: with [None] the first one for all steps. *)
Definition row_of (most : option nat) (tab : table) (t : nat) : list Z :=
  match most with Some _ => nth t tab [] | None => nth 0 tab [] end.

Definition price_in (ls : list link) (most : option nat) (tab : table) (t : nat) (l : link) : Z :=
  entry ls (row_of most tab t) l.

Definition nonneg (tab : table) : bool := forallb (forallb (Z.leb 0)) tab.

Lemma nth_nonneg row i : forallb (Z.leb 0) row = true -> 0 <= nth i row 0.
Proof.
  revert i. induction row as [|x row IH]; intros i H; [destruct i; cbn; lia|].
  cbn in H. apply andb_true_iff in H as [Hx H]. apply Z.leb_le in Hx.
  destruct i; cbn; [exact Hx|auto].
Qed.

Lemma row_nonneg tab t : nonneg tab = true -> forallb (Z.leb 0) (nth t tab []) = true.
Proof.
  unfold nonneg. revert t. induction tab as [|row tab IH]; intros t H; [destruct t; reflexivity|].
  cbn in H. apply andb_true_iff in H as [Hx H]. destruct t; cbn; auto.
Qed.

Lemma price_nonneg ls most tab t l : nonneg tab = true -> 0 <= price_in ls most tab t l.
Proof.
  intros H. unfold price_in, entry, row_of. apply nth_nonneg.
  destruct most; apply row_nonneg; exact H.
Qed.

(** More than any path costs. *)
Definition far_of (tab : table) : Z := 1 + total (total (fun x => x)) tab.

(** Costs of the cheapest paths from each node to a goal; [None] if the table has another number of
    rows than steps. *)
Definition cheapest (ls : list link) (nodes : nat) (most : option nat) (tab : table) (goal : node)
  : option costs :=
  let far := far_of tab in
  match most with
  | Some s => if (length tab =? s)%nat then Some (timed far ls goal tab) else None
  | None =>
      let row := nth 0 tab [] in
      let c := settled far ls goal row nodes in
      if is_settled far ls row c then Some c else None
  end.

(** Whatever reaches the goal costs at least the cheapest of its starts. *)
Lemma path_costs ls nodes most tab goal c moves (reaches : nat -> node -> Prop) least n :
  cheapest ls nodes most tab goal = Some c ->
  (forall v, reaches O v -> least <= get (far_of tab) c v) ->
  (forall t v, reaches (S t) v -> reaches t v \/
     exists e, In e moves /\ step e = t /\ to e = v /\ reaches t (from e)) ->
  (forall e, In e moves -> In (from e, to e) ls /\ (step e < n)%nat) ->
  match most with Some s => (n <= s)%nat | None => True end ->
  reaches n goal ->
  is_path_in moves (cost (price_in ls most tab)) least.
Proof.
  intros Hc Hfirst Hspread Hmoves Hn Hgoal. unfold cheapest in Hc. destruct most as [s|].
  - destruct (Nat.eqb_spec (length tab) s) as [<-|]; [injection Hc as <-|discriminate].
    apply goal_costs with (reaches := reaches) (t := n) (v := goal)
      (potential := fun t v => get (far_of tab) (timed (far_of tab) ls goal (skipn t tab)) v);
      auto.
    + intros t v. destruct (Nat.ltb_spec t (length tab)) as [Ht|Ht].
      * destruct (skipn t tab) as [|row rest] eqn:E.
        { apply (f_equal (@length _)) in E. rewrite skipn_length in E. cbn in E. lia. }
        assert (E' : skipn (S t) tab = rest).
        {
          clear - E. revert tab E. induction t as [|t IH]; intros [|x tab] E; cbn in *; try discriminate.
          - injection E as _ E. exact E.
          - apply IH. exact E. }
        rewrite E'. cbn [timed]. apply relax_le.
      * rewrite !skipn_all2 by lia. lia.
    + intros e He. destruct (Hmoves e He) as [Hl Hs].
      assert (Ht : (step e < length tab)%nat) by lia.
      destruct (skipn (step e) tab) as [|row rest] eqn:E.
      { apply (f_equal (@length _)) in E. rewrite skipn_length in E. cbn in E. lia. }
      assert (E' : skipn (S (step e)) tab = rest /\ nth (step e) tab [] = row).
      { clear - E. revert tab E.
        induction (step e) as [|t IH]; intros [|x tab] E; cbn in *; try discriminate.
        - injection E as -> ->. auto.
        - apply IH. exact E. }
      destruct E' as [-> Hrow]. cbn [timed]. unfold price_in, row_of. rewrite Hrow.
      apply relax_link. exact Hl.
    + apply timed_goal.
  - destruct (is_settled _ _ _ _) eqn:E; [injection Hc as <-|discriminate].
    apply goal_costs with (reaches := reaches) (t := n) (v := goal)
      (potential := fun _ v => get (far_of tab) (settled (far_of tab) ls goal (nth 0 tab []) nodes) v);
      auto; [lia| |].
    + intros e He. destruct (Hmoves e He) as [Hl _]. apply settled_link; assumption.
    + apply settled_goal.
Qed.
