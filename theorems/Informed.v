(** * Cheapest trees to many nodes, by sets of nodes that have the data

    In each step some nodes get the data, each over a link from a node that had it. The cost of a
    set is that of the cheapest way on from it. This takes 3^n sums for n nodes without the data;
    with sets of goals (Trees.v) it would take more if nearly all nodes are goals. *)

From Coq Require Import List NArith ZArith Lia Arith Bool.
From Syncoll Require Import Definitions Sums Paths Shares Trees.
Import ListNotations.
Open Scope Z_scope.

(** The cost of a set D of nodes, where [c] are the costs of the cheapest links into nodes; the
    least over the sets that follow. *)
Fixpoint best (f : sums) (D : goals) (c : list (option Z)) : Z :=
  match f with
  | One z => z
  | Two a b =>
      match D, c with
      | true :: D', _ :: c' => best b D' c'
      | false :: D', None :: c' => best a D' c'
      | false :: D', Some z :: c' => Z.min (best a D' c') (z + best b D' c')
      | _, _ => 0
      end
  end.

(** What the new nodes of a set cost; [None] if a node has no link. *)
Inductive grows : goals -> goals -> list (option Z) -> Z -> Prop :=
| grows_nil : grows [] [] [] 0
| grows_old D E o c y : grows D E c y -> grows (true :: D) (true :: E) (o :: c) y
| grows_not D E o c y : grows D E c y -> grows (false :: D) (false :: E) (o :: c) y
| grows_new D E z c y : grows D E c y -> grows (false :: D) (true :: E) (Some z :: c) (z + y).

Lemma best_le D E c y : grows D E c y -> forall f, shaped (length D) f -> best f D c <= y + value f E.
Proof.
  induction 1 as [|D E o c y H IH|D E o c y H IH|D E z c y H IH]; intros [|a b] Hs; cbn in *;
    try contradiction; try lia; destruct Hs as [Ha Hb].
  - apply IH, Hb.
  - specialize (IH a Ha). destruct o; lia.
  - specialize (IH b Hb). lia.
Qed.

Section Computed.
  Variables (far : Z) (ls : list link) (sources gs lacking : list node).
  Notation k := (length lacking).

  Fixpoint index (v : node) (l : list node) : option nat :=
    match l with
    | [] => None
    | w :: l' => if (v =? w)%N then Some O else option_map S (index v l')
    end.

  (** Where a set says whether a node has the data: [None] if it always does. *)
  Definition arc := (option nat * Z)%type.
  Definition is_on (D : goals) (o : option nat) : bool :=
    match o with None => true | Some i => nth i D false end.

  (** The links into a node from nodes that may have the data. *)
  Fixpoint arcs (ls : list link) (row : list Z) (w : node) : list arc :=
    match ls with
    | [] => []
    | (v, u) :: ls' =>
        let more := arcs ls' (tl row) w in
        if (u =? w)%N
        then if mem v sources then (None, hd 0 row) :: more
             else match index v lacking with Some i => (Some i, hd 0 row) :: more | None => more end
        else more
    end.

  Fixpoint into (D : goals) (l : list arc) : option Z :=
    match l with
    | [] => None
    | (o, z) :: l' =>
        let y := into D l' in
        if is_on D o then Some (match y with Some x => Z.min z x | None => z end) else y
    end.

  Definition last_cost : sums :=
    tabulated k (fun D => if forallb (fun g => mem g sources || match index g lacking with
      | Some i => nth i D false | None => false end) gs then 0 else far).

  Fixpoint on_from (rows : list (list Z)) : sums :=
    match rows with
    | [] => last_cost
    | row :: rows' =>
        let after := on_from rows' in
        let each := map (arcs ls row) lacking in
        tabulated k (fun D => best after D (map (into D) each))
    end.

  Lemma on_from_shaped rows : shaped k (on_from rows).
  Proof. destruct rows; apply tabulated_shaped. Qed.

  Lemma index_nth v l i (f : node -> bool) : index v l = Some i -> nth i (map f l) false = f v.
  Proof.
    revert i. induction l as [|w l IH]; cbn; intros i H; [discriminate|].
    destruct (N.eqb_spec v w) as [->|]; [injection H as <-; reflexivity|].
    destruct (index v l) as [j|]; [|discriminate]. injection H as <-. apply IH. reflexivity.
  Qed.

  Lemma index_in v l : In v l -> exists i, index v l = Some i.
  Proof.
    induction l as [|w l IH]; cbn; [tauto|]. intros H. destruct (N.eqb_spec v w); [eauto|].
    destruct IH as [i ->]; [destruct H; congruence|]. cbn. eauto.
  Qed.

  Lemma into_le D l o z : In (o, z) l -> is_on D o = true -> exists y, into D l = Some y /\ y <= z.
  Proof.
    induction l as [|[o' z'] l IH]; cbn; [tauto|]. intros [H|H] Ho.
    - injection H as -> ->. rewrite Ho. eexists. split; [reflexivity|]. destruct (into D l); lia.
    - destruct (IH H Ho) as [y [-> Hy]]. destruct (is_on D o'); eexists; (split; [reflexivity|lia]).
  Qed.

  Lemma arcs_in ls' row v w : In (v, w) ls' ->
    (mem v sources = true -> In (None, entry ls' row (v, w)) (arcs ls' row w)) /\
    (forall i, mem v sources = false -> index v lacking = Some i ->
       In (Some i, entry ls' row (v, w)) (arcs ls' row w)).
  Proof.
    revert row. induction ls' as [|[a b] ls' IH]; intros row H; [destruct H|].
    unfold entry. cbn [arcs position]. destruct (link_eqb (a, b) (v, w)) eqn:E.
    - apply link_eqb_eq in E. injection E as -> ->. rewrite N.eqb_refl.
      replace (nth 0 row 0) with (hd 0 row) by (destruct row; reflexivity).
      split; [intros ->; left; reflexivity|intros i -> ->; left; reflexivity].
    - destruct H as [H|H]; [apply link_eqb_eq in H; congruence|].
      destruct (IH (tl row) H) as [I1 I2]. unfold entry in I1, I2. rewrite nth_tl in I1, I2.
      split; [intros Hv; specialize (I1 Hv)|intros i Hv Hi; specialize (I2 i Hv Hi)];
        destruct (b =? w)%N, (mem a sources); auto; try (right; assumption);
        destruct (index a lacking); auto; right; assumption.
  Qed.

  (** ** Soundness *)

  Variables (moves : list send) (tab : table) (reaches : nat -> node -> Prop) (n : nat).
  Notation price := (price_in ls (Some (length tab)) tab).

  Hypothesis tab_nonneg : nonneg tab = true.
  Hypothesis lacking_nodup : NoDup lacking.
  Hypothesis lacking_all : forall l, In l ls -> In (snd l) sources \/ In (snd l) lacking.
  Hypothesis first : forall v, reaches O v -> In v sources.
  Hypothesis spreads : forall t v, reaches (S t) v -> reaches t v \/
    exists e, In e moves /\ step e = t /\ to e = v /\ reaches t (from e).
  Hypothesis in_links : forall e, In e moves -> In (from e, to e) ls /\ (step e < length tab)%nat.
  Hypothesis arrives : forall g, In g gs -> reaches n g.

  Fixpoint known (t : nat) (v : node) : bool :=
    match t with
    | O => mem v sources
    | S t' => known t' v ||
        existsb (fun e => (step e =? t')%nat && (to e =? v)%N && known t' (from e)) moves
    end.

  Lemma reaches_known t v : reaches t v -> known t v = true.
  Proof.
    revert v. induction t as [|t IH]; intros v H; cbn.
    - apply mem_in, first, H.
    - apply spreads in H as [H|[e [He [E1 [E2 H]]]]]; [rewrite (IH v H); reflexivity|].
      apply orb_true_iff. right. apply existsb_exists. exists e. split; [exact He|].
      rewrite E1, E2, Nat.eqb_refl, N.eqb_refl, (IH _ H). reflexivity.
  Qed.

  Lemma known_more t u v : (t <= u)%nat -> known t v = true -> known u v = true.
  Proof. induction 1; cbn; [auto|]. intros H'. rewrite IHle by exact H'. reflexivity. Qed.

  (** Nothing is new after the last step. *)
  Lemma known_last t v : known t v = true -> known (length tab) v = true.
  Proof.
    induction t as [|t IH] in v |- *; intros H; [apply (known_more O); [lia|exact H]|].
    cbn in H. apply orb_true_iff in H as [H|H]; [auto|].
    apply existsb_exists in H as [e [He E]]. rewrite !andb_true_iff in E. destruct E as [[E1 E2] E3].
    apply Nat.eqb_eq in E1. apply N.eqb_eq in E2. subst t v. destruct (in_links e He) as [_ Ht].
    apply (known_more (S (step e))); [lia|]. cbn. apply orb_true_iff. right.
    apply existsb_exists. exists e. rewrite Nat.eqb_refl, N.eqb_refl, E3. auto.
  Qed.

  Lemma known_source t v : mem v sources = true -> known t v = true.
  Proof. intros H. apply (known_more O); [lia|exact H]. Qed.

  Lemma known_is t v : known t v = true -> In v sources \/ In v lacking.
  Proof.
    induction t as [|t IH]; cbn; intros H; [left; apply mem_in, H|].
    apply orb_true_iff in H as [H|H]; [auto|]. apply existsb_exists in H as [e [He E]].
    rewrite !andb_true_iff in E. destruct E as [[_ E] _]. apply N.eqb_eq in E. subst v.
    change (to e) with (snd (from e, to e)). apply lacking_all, in_links, He.
  Qed.

  Lemma step_grows t : (t < length tab)%nat -> exists y,
    grows (map (known t) lacking) (map (known (S t)) lacking)
      (map (into (map (known t) lacking)) (map (arcs ls (nth t tab [])) lacking)) y /\
    y <= total (cost price) (filter (fun e => (step e =? t)%nat) moves).
  Proof.
    intros Ht. set (D := map (known t) lacking). set (row := nth t tab []).
    set (now := filter (fun e => (step e =? t)%nat) moves).
    assert (P : forall e, 0 <= cost price e) by (intros; apply price_nonneg, tab_nonneg).
    assert (New : forall w, known t w = false -> known (S t) w = true -> exists z,
      into D (arcs ls row w) = Some z /\
      z <= total (fun e => if (to e =? w)%N then cost price e else 0) now).
    { intros w H0 H1. cbn in H1. rewrite H0 in H1. cbn in H1.
      apply existsb_exists in H1 as [e [He E]]. rewrite !andb_true_iff in E.
      destruct E as [[E1 E2] E3]. apply Nat.eqb_eq in E1. apply N.eqb_eq in E2.
      destruct (in_links e He) as [Hl _]. rewrite E2 in Hl.
      assert (exists o, In (o, entry ls row (from e, w)) (arcs ls row w) /\ is_on D o = true) as [o [Ho Hon]].
      { destruct (arcs_in ls row (from e) w Hl) as [A1 A2]. destruct (mem (from e) sources) eqn:Em.
        - exists None. auto.
        - destruct (known_is _ _ E3) as [Hs|Hs]; [apply mem_in in Hs; congruence|].
          destruct (index_in _ _ Hs) as [i Hi]. exists (Some i). split; [auto|]. cbn. unfold D.
          rewrite (index_nth _ _ _ _ Hi). exact E3. }
      destruct (into_le D _ _ _ Ho Hon) as [z [Hz Hle]]. exists z. split; [exact Hz|].
      etransitivity; [exact Hle|].
      etransitivity; [|apply (total_in (fun e => if (to e =? w)%N then cost price e else 0) now e)].
      - rewrite E2, N.eqb_refl. unfold cost, price_in, row_of. rewrite E1, E2. fold row. lia.
      - intros y _. destruct (_ =? _)%N; [apply P|lia].
      - apply filter_In. split; [exact He|apply Nat.eqb_eq, E1]. }
    assert (G : forall l, NoDup l -> exists y,
      grows (map (known t) l) (map (known (S t)) l) (map (into D) (map (arcs ls row) l)) y /\
      y <= total (fun w => total (fun e => if (to e =? w)%N then cost price e else 0) now) l).
    { assert (Q : forall w, 0 <= total (fun e => if (to e =? w)%N then cost price e else 0) now).
      { intros w. apply total_nonneg. intros e _. destruct (_ =? _)%N; [apply P|lia]. }
      induction 1 as [|w l Hw Hd [y [IH1 IH2]]]; [exists 0; split; [constructor|cbn; lia]|].
      cbn [map total]. specialize (Q w). destruct (known t w) eqn:E0.
      - rewrite (known_more t (S t) w) by (auto || lia). exists y. split; [constructor; exact IH1|lia].
      - destruct (known (S t) w) eqn:E1.
        + destruct (New w E0 E1) as [z [-> Hz]]. exists (z + y). split; [constructor; exact IH1|lia].
        + exists y. split; [constructor; exact IH1|lia]. }
    destruct (G lacking lacking_nodup) as [y [G1 G2]]. exists y. split; [exact G1|].
    etransitivity; [exact G2|]. rewrite total_swap. apply total_le. intros e _.
    etransitivity; [apply (total_one N.eqb N.eqb_eq); [exact lacking_nodup|apply P]|].
    destruct (existsb (N.eqb (to e)) lacking); [lia|apply P].
  Qed.

  Lemma informed_pays : value (on_from tab) (map (known O) lacking) <= total (cost price) moves.
  Proof.
    assert (H : forall t, (t <= length tab)%nat ->
      value (on_from tab) (map (known O) lacking) <=
        value (on_from (skipn t tab)) (map (known t) lacking)
        + total (cost price) (filter (fun e => (step e <? t)%nat) moves)).
    { induction t as [|t IH]; intros Ht.
      - rewrite filter_none by auto. cbn [total skipn]. lia.
      - specialize (IH ltac:(lia)). rewrite (below_S step (cost price) moves t).
        rewrite (skipn_cons t tab []) in IH by lia. cbn [on_from] in IH.
        rewrite tabulated_value in IH by apply map_length.
        destruct (step_grows t Ht) as [y [G1 G2]].
        pose proof (best_le _ _ _ _ G1 (on_from (skipn (S t) tab))) as B.
        rewrite map_length in B. specialize (B (on_from_shaped _)). lia. }
    specialize (H (length tab) (le_n _)). rewrite skipn_all in H. cbn [on_from] in H.
    unfold last_cost in H. rewrite tabulated_value in H by apply map_length.
    destruct (forallb _ gs) eqn:E.
    - rewrite filter_all in H; [lia|]. intros e He. apply Nat.ltb_lt, in_links, He.
    - exfalso. apply not_true_iff_false in E. apply E. rewrite forallb_forall. intros g Hg.
      pose proof (known_last n g (reaches_known n g (arrives g Hg))) as Hk.
      destruct (known_is _ _ Hk) as [Hs|Hs]; [apply mem_in in Hs; rewrite Hs; reflexivity|].
      destruct (index_in _ _ Hs) as [i Hi]. rewrite Hi, (index_nth _ _ _ _ Hi), Hk.
      apply orb_true_r.
  Qed.
End Computed.

Definition without (ls : list link) (sources : list node) : list node :=
  filter (fun v => negb (mem v sources)) (nodup N.eq_dec (map snd ls)).

Definition tree_cost_of_sets (ls : list link) (tab : table) (sources gs : list node) : Z :=
  let lacking := without ls sources in
  value (on_from (far_of tab) ls sources gs lacking tab) (none (length lacking)).

Lemma tree_pays_by_sets ls tab sources gs moves (reaches : nat -> node -> Prop) n :
  nonneg tab = true ->
  (forall v, reaches O v -> In v sources) ->
  (forall t v, reaches (S t) v -> reaches t v \/
     exists e, In e moves /\ step e = t /\ to e = v /\ reaches t (from e)) ->
  (forall e, In e moves -> In (from e, to e) ls /\ (step e < length tab)%nat) ->
  (forall g, In g gs -> reaches n g) ->
  tree_cost_of_sets ls tab sources gs <= total (cost (price_in ls (Some (length tab)) tab)) moves.
Proof.
  intros Hpos Hfirst Hspread Hmoves Hgoal. unfold tree_cost_of_sets.
  set (lacking := without ls sources).
  replace (none (length lacking)) with (map (known sources moves O) lacking).
  - apply informed_pays with (reaches := reaches) (n := n); auto.
    + apply NoDup_filter, NoDup_nodup.
    + intros l Hl. destruct (mem (snd l) sources) eqn:E; [left; apply mem_in, E|]. right.
      apply filter_In. split; [apply nodup_In, in_map, Hl|]. rewrite E. reflexivity.
  - cbn [known]. unfold lacking, without.
    induction (nodup N.eq_dec (map snd ls)) as [|v l IH]; cbn; [reflexivity|].
    destruct (mem v sources) eqn:E; cbn; [exact IH|]. rewrite E. unfold none in *. cbn. f_equal. exact IH.
Qed.
