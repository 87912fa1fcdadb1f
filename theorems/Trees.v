(** * Cheapest trees: the sends of a chunk to several nodes cost at least its cheapest tree

    Data that a chunk sends to several nodes goes over a tree: where two ways meet, they go on
    together. Let the cost of a node and a set of goals be at most the price of any tree from the
    node to these goals. The nodes that have the data before step t, each with the goals that it
    serves, cost no more together than those before step t + 1 and the sends of step t. *)

From Coq Require Import List NArith ZArith Lia Arith Bool FMapPositive.
From Syncoll Require Import Definitions Sums Paths.
Import ListNotations.
Open Scope Z_scope.

(** ** Sets of goals: an entry for each goal *)

Definition goals := list bool.

(** D is A and B together, and they have no goal in common. *)
Inductive parted : goals -> goals -> goals -> Prop :=
| parted_nil : parted [] [] []
| parted_none A B D : parted A B D -> parted (false :: A) (false :: B) (false :: D)
| parted_left A B D : parted A B D -> parted (true :: A) (false :: B) (true :: D)
| parted_right A B D : parted A B D -> parted (false :: A) (true :: B) (true :: D).

Definition none (n : nat) : goals := repeat false n.

Lemma parted_length A B D : parted A B D -> length A = length D /\ length B = length D.
Proof. induction 1; cbn; intuition congruence. Qed.

Lemma parted_empty D : parted D (none (length D)) D.
Proof. induction D as [|[] D IH]; cbn; constructor; exact IH. Qed.

Lemma parted_swap A B D : parted A B D -> parted B A D.
Proof. induction 1; constructor; assumption. Qed.

Lemma parted_assoc A A1 A2 B D : parted A1 A2 A -> parted A B D ->
  exists E, parted A2 B E /\ parted A1 E D.
Proof.
  intros H. revert B D. induction H; intros B' D' H'; inversion H'; subst;
    try (destruct (IHparted _ _ ltac:(eassumption)) as [E [E1 E2]]);
    eexists; split; econstructor; eassumption.
Qed.

(** ** Costs of all sets of goals: branches without and with the first goal *)

Inductive sums := One (z : Z) | Two (without within : sums).

Fixpoint shaped (n : nat) (h : sums) : Prop :=
  match n, h with
  | O, One _ => True
  | S n', Two f g => shaped n' f /\ shaped n' g
  | _, _ => False
  end.

Fixpoint value (h : sums) (D : goals) : Z :=
  match h, D with
  | One z, _ => z
  | Two f _, [] => value f []
  | Two f g, x :: D' => if x then value g D' else value f D'
  end.

Fixpoint tabulated (n : nat) (f : goals -> Z) : sums :=
  match n with
  | O => One (f [])
  | S n' => Two (tabulated n' (fun D => f (false :: D))) (tabulated n' (fun D => f (true :: D)))
  end.

Fixpoint lower (f g : sums) : sums :=
  match f, g with
  | One x, One y => One (Z.min x y)
  | Two a b, Two c d => Two (lower a c) (lower b d)
  | _, _ => f
  end.

Fixpoint raised (z : Z) (f : sums) : sums :=
  match f with One x => One (z + x) | Two a b => Two (raised z a) (raised z b) end.

(** The least sum over the ways to part a set. *)
Fixpoint both (f g : sums) : sums :=
  match f, g with
  | One x, One y => One (x + y)
  | Two a b, Two c d => Two (both a c) (lower (both b c) (both a d))
  | _, _ => f
  end.

(** The least sum over the ways to divide a set: the part with the first goal, and all others. *)
Fixpoint divided (f : sums) : sums :=
  match f with One z => One z | Two a b => let h := divided a in Two h (both b h) end.

Ltac by_shape n f := destruct n, f; cbn in *; try contradiction.

Lemma tabulated_shaped n f : shaped n (tabulated n f).
Proof. revert f. induction n; cbn; auto. Qed.

Lemma tabulated_value n f D : length D = n -> value (tabulated n f) D = f D.
Proof.
  revert n f. induction D as [|[] D IH]; intros [|n] f; cbn; intros H; try discriminate; auto.
  all: rewrite IH by congruence; reflexivity.
Qed.

Lemma lower_shaped n f g : shaped n f -> shaped n g -> shaped n (lower f g).
Proof.
  revert f g. induction n as [|n IH]; intros [] []; cbn; try tauto. intuition.
Qed.

Lemma lower_value n f g D : shaped n f -> shaped n g ->
  value (lower f g) D = Z.min (value f D) (value g D).
Proof.
  revert f g D. induction n as [|n IH]; intros [|a b] [|c d] D; cbn; try tauto.
  intros [] []. destruct D as [|[] D]; auto.
Qed.

Lemma raised_shaped n z f : shaped n f -> shaped n (raised z f).
Proof. revert f. induction n as [|n IH]; intros []; cbn; intuition. Qed.

Lemma raised_value z f D : value (raised z f) D = z + value f D.
Proof. revert D. induction f as [|a IHa b IHb]; intros D; cbn; [lia|]. destruct D as [|[] D]; auto. Qed.

Lemma both_shaped n f g : shaped n f -> shaped n g -> shaped n (both f g).
Proof.
  revert f g. induction n as [|n IH]; intros [] []; cbn; try tauto. intuition auto using lower_shaped.
Qed.

Lemma both_le A B D : parted A B D -> forall f g, shaped (length D) f -> shaped (length D) g ->
  value (both f g) D <= value f A + value g B.
Proof.
  induction 1 as [|A B D H IH|A B D H IH|A B D H IH]; intros [|a b] [|c d]; cbn; try tauto;
    try lia; intros [] [].
  - auto.
  - rewrite lower_value with (n := length D) by auto using both_shaped.
    etransitivity; [apply Z.le_min_l|auto].
  - rewrite lower_value with (n := length D) by auto using both_shaped.
    etransitivity; [apply Z.le_min_r|auto].
Qed.

Lemma both_attained D : forall f g, shaped (length D) f -> shaped (length D) g ->
  exists A B, parted A B D /\ value (both f g) D = value f A + value g B.
Proof.
  induction D as [|x D IH]; intros [|a b] [|c d]; cbn; try tauto.
  - exists [], []. split; [constructor|reflexivity].
  - intros [Ha Hb] [Hc Hd]. destruct x.
    + rewrite lower_value with (n := length D) by auto using both_shaped.
      destruct (Z.min_spec (value (both b c) D) (value (both a d) D)) as [[_ ->]|[_ ->]].
      * destruct (IH b c Hb Hc) as [A [B [H E]]]. exists (true :: A), (false :: B).
        split; [constructor; exact H|exact E].
      * destruct (IH a d Ha Hd) as [A [B [H E]]]. exists (false :: A), (true :: B).
        split; [constructor; exact H|exact E].
    + destruct (IH a c Ha Hc) as [A [B [H E]]]. exists (false :: A), (false :: B).
      split; [constructor; exact H|exact E].
Qed.

Lemma divided_shaped n f : shaped n f -> shaped n (divided f).
Proof. revert f. induction n as [|n IH]; intros []; cbn; intuition auto using both_shaped. Qed.

Lemma divided_none n f : shaped n f -> value (divided f) (none n) = value f (none n).
Proof. revert f. induction n as [|n IH]; intros []; cbn; intuition. Qed.

Lemma divided_le n f D : shaped n f -> value f (none n) = 0 -> length D = n ->
  value (divided f) D <= value f D.
Proof.
  revert f D. induction n as [|n IH]; intros [|a b] [|x D]; cbn; try tauto; try lia; try discriminate.
  intros [Ha Hb] H0 [= HD]. destruct x; [|auto].
  etransitivity; [apply (both_le D (none n) D)|].
  - rewrite <- HD. apply parted_empty.
  - rewrite HD. exact Hb.
  - rewrite HD. apply divided_shaped, Ha.
  - fold (none n). rewrite divided_none by exact Ha. unfold none. rewrite H0. lia.
Qed.

Lemma divided_joins n f : shaped n f -> value f (none n) = 0 ->
  forall A B D, parted A B D -> length D = n ->
  value (divided f) D <= value (divided f) A + value (divided f) B.
Proof.
  revert f. induction n as [|n IH]; intros [|a b]; cbn; try tauto.
  - intros _ -> A B D H HD. destruct D; [|discriminate]. inversion H. cbn. lia.
  - intros [Ha Hb] H0.
    assert (G : forall A B D, parted A B D -> length D = n ->
      value (both b (divided a)) D <= value (both b (divided a)) A + value (divided a) B).
    { intros A B D H HD. destruct (parted_length _ _ _ H) as [LA _].
      destruct (both_attained A b (divided a)) as [A1 [A2 [HA E]]];
        try (rewrite LA, HD; auto using divided_shaped).
      rewrite E. destruct (parted_assoc _ _ _ _ _ HA H) as [E' [H1 H2]].
      destruct (parted_length _ _ _ H2) as [_ LE].
      etransitivity; [apply (both_le _ _ _ H2)|]; try (rewrite HD; auto using divided_shaped).
      assert (value (divided a) E' <= value (divided a) A2 + value (divided a) B)
        by (apply IH; congruence || assumption). lia. }
    intros A B D H HD. inversion H; subst; cbn in *; try discriminate; injection HD as HD.
    + apply IH; auto.
    + apply G; auto.
    + rewrite Z.add_comm. apply G; auto using parted_swap.
Qed.

(** ** The argument *)

Definition serving (vs : list node) (ws : list node) : goals :=
  map (fun w => existsb (N.eqb w) vs) ws.

Lemma serving_length vs ws : length (serving vs ws) = length ws.
Proof. apply map_length. Qed.

Lemma serving_nil ws : serving [] ws = none (length ws).
Proof. induction ws as [|w ws IH]; [reflexivity|]. cbn. unfold none. cbn. f_equal. exact IH. Qed.

Lemma serving_cons v vs ws : ~ In v vs ->
  parted (serving [v] ws) (serving vs ws) (serving (v :: vs) ws).
Proof.
  intros Hv. induction ws as [|w ws IH]; cbn; [constructor|].
  destruct (N.eqb_spec w v) as [->|Hne]; cbn.
  - destruct (existsb (N.eqb v) vs) eqn:E; [|constructor; exact IH].
    exfalso. apply Hv. apply existsb_exists in E as [u [Hu E]]. apply N.eqb_eq in E. rewrite E. exact Hu.
  - destruct (existsb (N.eqb w) vs); constructor; exact IH.
Qed.

Lemma choices {A} (R : node -> A -> Prop) (default : A) vs : (forall v, In v vs -> exists x, R v x) ->
  exists f, forall v, In v vs -> R v (f v).
Proof.
  induction vs as [|v vs IH]; intros H.
  - exists (fun _ => default). intros ? [].
  - destruct IH as [f Hf]; [intros; apply H; right; assumption|].
    destruct (H v (or_introl eq_refl)) as [x Hx].
    exists (fun w => if (w =? v)%N then x else f w). intros w Hw.
    destruct (N.eqb_spec w v) as [->|Hne]; [exact Hx|]. apply Hf. destruct Hw; [congruence|assumption].
Qed.

Lemma total_only f v vs : NoDup vs -> In v vs ->
  total (fun w => if (v =? w)%N then f w else 0) vs = f v.
Proof.
  intros Hd. induction Hd as [|w vs Hw Hd IH]; cbn; [tauto|]. intros Hv.
  destruct (N.eqb_spec v w) as [->|Hne].
  - rewrite (total_ext _ (fun _ => 0)); [rewrite total_const; lia|].
    intros u Hu. destruct (N.eqb_spec w u) as [->|]; [contradiction|reflexivity].
  - destruct Hv as [->|Hv]; [congruence|]. rewrite IH by exact Hv. reflexivity.
Qed.

Section Spread.
  Variables (moves : list send) (reaches : nat -> node -> Prop) (price : nat -> link -> Z).
  Variables (gs : list node) (n : nat).
  Variables (potential : nat -> node -> goals -> Z) (first : goals -> Z).
  Notation k := (length gs).

  Hypothesis price_nonneg : forall t l, 0 <= price t l.
  Hypothesis spreads : forall t v, reaches (S t) v -> reaches t v \/
    exists e, In e moves /\ step e = t /\ to e = v /\ reaches t (from e).
  Hypothesis waits : forall t v D, length D = k -> potential t v D <= potential (S t) v D.
  Hypothesis over_link : forall e D, In e moves -> length D = k ->
    potential (step e) (from e) D <= price (step e) (from e, to e) + potential (S (step e)) (to e) D.
  Hypothesis joins : forall t v A B D, parted A B D -> length D = k ->
    potential t v D <= potential t v A + potential t v B.
  Hypothesis nothing : forall t v, potential t v (none k) <= 0.
  Hypothesis arrived : forall v, potential n v (serving [v] gs) <= 0.
  Hypothesis arrives : forall g, In g gs -> reaches n g.
  Hypothesis first_joins : forall A B D, parted A B D -> length D = k -> first D <= first A + first B.
  Hypothesis first_nothing : first (none k) <= 0.
  Hypothesis first_le : forall v D, reaches 0 v -> length D = k -> first D <= potential 0 v D.

  Lemma joined (f : goals -> Z) vs ws : NoDup vs -> length ws = k ->
    (forall A B D, parted A B D -> length D = k -> f D <= f A + f B) -> f (none k) <= 0 ->
    f (serving vs ws) <= total (fun v => f (serving [v] ws)) vs.
  Proof.
    intros Hd Hw Hj H0. induction Hd as [|v vs Hv Hd IH]; cbn [total].
    - rewrite serving_nil, Hw. exact H0.
    - pose proof (Hj _ _ _ (serving_cons v vs ws Hv)) as H. rewrite serving_length in H.
      specialize (H Hw). lia.
  Qed.

  (** The nodes [vs] have the data before step t; [ws] are those that serve the goals. *)
  Lemma step_back t vs ws : NoDup vs -> length ws = k -> incl ws vs ->
    (forall v, In v vs -> reaches (S t) v) ->
    exists vs' ws', NoDup vs' /\ length ws' = k /\ incl ws' vs' /\
      (forall v, In v vs' -> reaches t v) /\
      total (fun v => potential t v (serving [v] ws')) vs' <=
        total (fun v => potential (S t) v (serving [v] ws)) vs
        + total (cost price) (filter (fun e => (step e =? t)%nat) moves).
  Proof.
    intros Hd Hw Hin Hr.
    destruct (choices (fun v (x : option send) => match x with
      | None => reaches t v
      | Some e => In e moves /\ step e = t /\ to e = v /\ reaches t (from e) end) None vs) as [f Hf].
    { intros v Hv. destruct (spreads _ _ (Hr v Hv)) as [H|[e He]]; [exists None|exists (Some e)]; auto. }
    set (back := fun v => match f v with None => v | Some e => from e end).
    set (paid := fun v => match f v with None => 0 | Some e => cost price e end).
    exists (nodup N.eq_dec (map back vs)), (map back ws).
    split; [apply NoDup_nodup|]. split; [rewrite map_length; exact Hw|]. split.
    { intros w H. apply nodup_In. apply in_map_iff in H as [u [<- Hu]]. apply in_map, Hin, Hu. }
    split.
    { intros v H. apply nodup_In, in_map_iff in H as [u [<- Hu]]. specialize (Hf u Hu). unfold back.
      destruct (f u) as [e|]; [apply Hf|exact Hf]. }
    set (vs' := nodup N.eq_dec (map back vs)).
    assert (Hmask : forall v', serving [v'] (map back ws)
      = serving (filter (fun v => (back v =? v')%N) vs) ws).
    { intros v'. unfold serving. rewrite map_map. apply map_ext_in. intros w Hw'. cbn.
      rewrite orb_false_r. destruct (existsb (N.eqb w) (filter (fun v => (back v =? v')%N) vs)) eqn:E.
      - apply existsb_exists in E as [u [Hu E]]. apply N.eqb_eq in E. subst u.
        apply filter_In in Hu as [_ Hu]. exact Hu.
      - apply not_true_iff_false in E. apply not_true_iff_false. intros H. apply E.
        apply existsb_exists. exists w. split; [|apply N.eqb_refl]. apply filter_In. auto. }
    transitivity (total (fun v' => total (fun v => if (back v =? v')%N
      then potential t v' (serving [v] ws) else 0) vs) vs').
    { apply total_le. intros v' _. rewrite Hmask.
      etransitivity; [apply (joined (potential t v')); auto using NoDup_filter|].
      rewrite total_filter. lia. }
    rewrite total_swap.
    transitivity (total (fun v => potential (S t) v (serving [v] ws) + paid v) vs).
    { apply total_le. intros v Hv.
      rewrite (total_only (fun v' => potential t v' (serving [v] ws)) (back v) vs').
      2: apply NoDup_nodup.
      2: apply nodup_In, in_map, Hv.
      assert (L : length (serving [v] ws) = k) by (rewrite serving_length; exact Hw).
      specialize (Hf v Hv). unfold back, paid. destruct (f v) as [e|].
      - destruct Hf as [He [Ht [Hto _]]]. pose proof (over_link e _ He L) as H.
        rewrite Ht, Hto in H. unfold cost. rewrite Ht, Hto. lia.
      - specialize (waits t v _ L). lia. }
    rewrite total_add. apply Zplus_le_compat_l.
    set (now := filter (fun e => (step e =? t)%nat) moves).
    transitivity (total (fun v => total (fun e => if (to e =? v)%N then cost price e else 0) now) vs).
    { apply total_le. intros v Hv. specialize (Hf v Hv). unfold paid.
      assert (P : forall e, In e now -> 0 <= if (to e =? v)%N then cost price e else 0).
      { intros e _. destruct (_ =? _)%N; [apply price_nonneg|lia]. }
      destruct (f v) as [e|]; [|apply total_nonneg, P].
      destruct Hf as [He [Ht [Hto _]]].
      assert (En : In e now) by (apply filter_In; split; [exact He|apply Nat.eqb_eq, Ht]).
      pose proof (total_in _ now e P En) as H. cbn beta in H. rewrite Hto, N.eqb_refl in H. exact H. }
    rewrite total_swap. apply total_le. intros e _. etransitivity; [apply (total_one N.eqb N.eqb_eq); [exact Hd|apply price_nonneg]|].
    destruct (existsb (N.eqb (to e)) vs); [lia|apply price_nonneg].
  Qed.

  Lemma tree_costs : first (repeat true k) <= total (cost price) moves.
  Proof.
    assert (H : forall t vs ws, NoDup vs -> length ws = k -> incl ws vs ->
      (forall v, In v vs -> reaches t v) ->
      first (repeat true k) <= total (fun v => potential t v (serving [v] ws)) vs
        + total (cost price) (filter (fun e => (step e <? t)%nat) moves)).
    { induction t as [|t IH]; intros vs ws Hd Hw Hin Hr.
      - rewrite filter_none by auto. cbn [total]. rewrite Z.add_0_r.
        transitivity (total (fun v => first (serving [v] ws)) vs).
        + assert (E : repeat true k = serving vs ws).
          { rewrite <- Hw. clear -Hin. induction ws as [|w ws IH]; cbn; [reflexivity|].
            f_equal; [|apply IH; intros u Hu; apply Hin; right; exact Hu].
            symmetry. apply existsb_exists. exists w. split; [|apply N.eqb_refl].
            apply Hin. left. reflexivity. }
          rewrite E. apply joined; auto.
        + apply total_le. intros v Hv. apply first_le; auto. rewrite serving_length. exact Hw.
      - destruct (step_back t vs ws Hd Hw Hin Hr) as [vs' [ws' [H1 [H2 [H3 [H4 H5]]]]]].
        specialize (IH vs' ws' H1 H2 H3 H4). rewrite (below_S step (cost price) moves t). lia. }
    specialize (H n (nodup N.eq_dec gs) gs (NoDup_nodup _ _) eq_refl).
    assert (incl gs (nodup N.eq_dec gs)) as Hi by (intros v Hv; apply nodup_In, Hv).
    specialize (H Hi ltac:(intros v Hv; apply arrives; apply nodup_In in Hv; exact Hv)).
    assert (total (fun v => potential n v (serving [v] gs)) (nodup N.eq_dec gs) <= 0).
    { transitivity (total (fun _ => 0) (nodup N.eq_dec gs)); [apply total_le; auto|].
      rewrite total_const. lia. }
    assert (total (cost price) (filter (fun e => (step e <? n)%nat) moves) <= total (cost price) moves)
      by (apply total_filter_le; intros; apply price_nonneg).
    lia.
  Qed.
End Spread.

(** ** The computation *)

Section Computed.
  Variables (far : Z) (ls : list link) (gs : list node).
  Hypothesis far_nonneg : 0 <= far.
  Notation k := (length gs).

  Definition same (A B : goals) : bool := if list_eq_dec Bool.bool_dec A B then true else false.

  (** Costs where a set is reached, and the empty one. *)
  Definition only (A : goals) : sums :=
    tabulated k (fun D => if same D (none k) || same D A then 0 else far).
  Definition nowhere : sums := divided (only (none k)).

  Definition stage := PositiveMap.t sums.
  Definition at_node (c : stage) (v : node) : sums :=
    match PositiveMap.find (N.succ_pos v) c with Some h => h | None => nowhere end.
  Definition put_at (v : node) (h : sums) (c : stage) : stage := PositiveMap.add (N.succ_pos v) h c.

  Fixpoint relaxed (ls : list link) (row : list Z) (after now : stage) : stage :=
    match ls with
    | [] => now
    | (v, w) :: ls' =>
        relaxed ls' (tl row) after
          (put_at v (lower (at_node now v) (raised (hd 0 row) (at_node after w))) now)
    end.

  Definition last_stage : stage :=
    fold_right (fun v c => put_at v (divided (only (serving [v] gs))) c) (PositiveMap.empty sums) gs.

  Fixpoint grown (rows : list (list Z)) : stage :=
    match rows with
    | [] => last_stage
    | row :: rows' => let after := grown rows' in
        PositiveMap.map divided (relaxed ls row after after)
    end.

  (** From all sources together. *)
  Definition from_sources (c : stage) (vs : list node) : sums :=
    divided (fold_right (fun v h => lower (at_node c v) h) nowhere vs).

  Definition sane (h : sums) : Prop := shaped k h /\ value h (none k) = 0.
  Definition good (h : sums) : Prop := sane h /\
    forall A B D, parted A B D -> length D = k -> value h D <= value h A + value h B.

  Lemma none_length n : length (none n) = n.
  Proof. apply repeat_length. Qed.

  Lemma only_sane A : sane (only A).
  Proof.
    split; [apply tabulated_shaped|]. unfold only. rewrite tabulated_value by apply none_length.
    unfold same. destruct (list_eq_dec _ (none k) (none k)); [reflexivity|congruence].
  Qed.

  Lemma divided_good h : sane h -> good (divided h).
  Proof.
    intros [H1 H2]. split; [split|].
    - apply divided_shaped, H1.
    - rewrite divided_none; assumption.
    - apply divided_joins; assumption.
  Qed.

  Lemma at_put v h c w : at_node (put_at v h c) w = if (v =? w)%N then h else at_node c w.
  Proof.
    unfold at_node, put_at. destruct (N.eqb_spec v w) as [->|Hne].
    - rewrite PositiveMap.gss. reflexivity.
    - rewrite PositiveMap.gso; [reflexivity|]. intros E. apply Hne. symmetry. apply succ_pos_inj, E.
  Qed.

  Lemma lower_sane f g z : sane f -> sane g -> 0 <= z -> sane (lower f (raised z g)).
  Proof.
    intros [F1 F2] [G1 G2] Hz. split; [auto using lower_shaped, raised_shaped|].
    rewrite lower_value with (n := k) by auto using raised_shaped. rewrite raised_value. lia.
  Qed.

  Lemma hd_nonneg row : forallb (Z.leb 0) row = true -> 0 <= hd 0 row /\ forallb (Z.leb 0) (tl row) = true.
  Proof.
    destruct row as [|x row]; cbn; [split; [lia|reflexivity]|]. intros H.
    apply andb_true_iff in H as [H1 H2]. apply Z.leb_le in H1. auto.
  Qed.

  Section Relaxed.
    Variable after : stage.
    Hypothesis after_sane : forall v, sane (at_node after v).

    Lemma relaxed_sane ls' row now : forallb (Z.leb 0) row = true ->
      (forall v, sane (at_node now v)) -> forall v, sane (at_node (relaxed ls' row after now) v).
    Proof.
      revert row now. induction ls' as [|[a b] ls' IH]; intros row now Hrow Hnow v; cbn; [apply Hnow|].
      apply hd_nonneg in Hrow as [H1 H2]. apply IH; [exact H2|]. intros w. rewrite at_put.
      destruct (_ =? _)%N; auto using lower_sane.
    Qed.

    Lemma relaxed_le ls' row now v D : forallb (Z.leb 0) row = true ->
      (forall v, sane (at_node now v)) ->
      value (at_node (relaxed ls' row after now) v) D <= value (at_node now v) D.
    Proof.
      revert row now. induction ls' as [|[a b] ls' IH]; intros row now Hrow Hnow; cbn; [lia|].
      apply hd_nonneg in Hrow as [H1 H2]. etransitivity; [apply IH; [exact H2|]|].
      - intros w. rewrite at_put. destruct (_ =? _)%N; auto using lower_sane.
      - rewrite at_put. destruct (N.eqb_spec a v) as [->|]; [|lia].
        rewrite lower_value with (n := k); [apply Z.le_min_l|apply Hnow|].
        apply raised_shaped, after_sane.
    Qed.

    Lemma relaxed_link ls' row now v w D : forallb (Z.leb 0) row = true ->
      (forall v, sane (at_node now v)) -> In (v, w) ls' ->
      value (at_node (relaxed ls' row after now) v) D
        <= entry ls' row (v, w) + value (at_node after w) D.
    Proof.
      revert row now. induction ls' as [|[a b] ls' IH]; intros row now Hrow Hnow H; [destruct H|].
      apply hd_nonneg in Hrow as [H1 H2]. unfold entry. cbn [relaxed position].
      assert (Hnext : forall u, sane (at_node (put_at a (lower (at_node now a)
        (raised (hd 0 row) (at_node after b))) now) u)).
      { intros u. rewrite at_put. destruct (_ =? _)%N; auto using lower_sane. }
      destruct (link_eqb (a, b) (v, w)) eqn:E.
      - apply link_eqb_eq in E. injection E as -> ->.
        etransitivity; [apply relaxed_le; auto|]. rewrite at_put, N.eqb_refl.
        rewrite lower_value with (n := k); [|apply Hnow|apply raised_shaped, after_sane].
        rewrite raised_value. etransitivity; [apply Z.le_min_r|].
        destruct row; cbn; lia.
      - destruct H as [H|H]; [apply link_eqb_eq in H; congruence|].
        specialize (IH (tl row) _ H2 Hnext H). unfold entry in IH. rewrite nth_tl in IH. exact IH.
    Qed.
  End Relaxed.

  Lemma at_map c v : (forall v, sane (at_node c v)) ->
    good (at_node (PositiveMap.map divided c) v) /\
    forall D, length D = k -> value (at_node (PositiveMap.map divided c) v) D <= value (at_node c v) D.
  Proof.
    intros H. specialize (H v). unfold at_node in *. unfold PositiveMap.map.
    rewrite PositiveMap.gmapi. destruct (PositiveMap.find _ c); cbn [option_map].
    - split; [apply divided_good, H|]. intros D HD. destruct H. apply (divided_le k); assumption.
    - split; [apply divided_good, only_sane|]. intros; lia.
  Qed.

  Lemma last_good v : good (at_node last_stage v) /\ value (at_node last_stage v) (serving [v] gs) <= 0.
  Proof.
    assert (Hs : forall A, value (divided (only A)) A <= 0 \/ length A <> k).
    { intros A. destruct (Nat.eq_dec (length A) k) as [HA|]; [left|right; assumption].
      destruct (only_sane A) as [S1 S2].
      etransitivity; [apply (divided_le k); assumption|]. unfold only.
      rewrite tabulated_value by exact HA. unfold same.
      destruct (list_eq_dec _ A A); [|congruence]. rewrite orb_true_r. lia. }
    assert (G : forall l, (forall u, In u l -> In u gs) ->
      let c := fold_right (fun v c => put_at v (divided (only (serving [v] gs))) c)
        (PositiveMap.empty sums) l in
      good (at_node c v) /\ (In v l -> value (at_node c v) (serving [v] gs) <= 0)).
    { induction l as [|u l IH]; cbn [fold_right]; intros Hl; cbn zeta.
      - unfold at_node. rewrite PositiveMap.gempty. split; [apply divided_good, only_sane|intros []].
      - destruct IH as [I1 I2]; [intros; apply Hl; right; assumption|]. rewrite at_put.
        destruct (N.eqb_spec u v) as [->|Hne].
        + split; [apply divided_good, only_sane|]. intros _.
          destruct (Hs (serving [v] gs)) as [H|H]; [exact H|]. rewrite serving_length in H. congruence.
        + split; [exact I1|]. intros [H|H]; [congruence|auto]. }
    destruct (G gs (fun _ H => H)) as [G1 G2]. fold last_stage in *. split; [exact G1|].
    destruct (in_dec N.eq_dec v gs) as [Hv|Hv]; [auto|].
    replace (serving [v] gs) with (none k); [destruct G1 as [[_ ->] _]; lia|].
    rewrite <- serving_nil. unfold serving. apply map_ext_in. intros w Hw. cbn.
    destruct (N.eqb_spec w v) as [->|]; [contradiction|reflexivity].
  Qed.

  Lemma grown_good rows v : nonneg rows = true -> good (at_node (grown rows) v) /\
    value (at_node (grown rows) v) (serving [v] gs) <= 0.
  Proof.
    revert v. induction rows as [|row rows IH]; cbn [grown nonneg forallb]; intros v H; [apply last_good|].
    apply andb_true_iff in H as [Hrow H].
    assert (Hs : forall v, sane (at_node (grown rows) v)) by (intros u; apply IH, H).
    destruct (at_map (relaxed ls row (grown rows) (grown rows)) v) as [G1 G2].
    { apply relaxed_sane; assumption. }
    split; [exact G1|]. etransitivity; [apply G2, serving_length|].
    etransitivity; [apply relaxed_le; assumption|]. apply IH, H.
  Qed.

  Lemma grown_waits row rows v D : nonneg (row :: rows) = true -> length D = k ->
    value (at_node (grown (row :: rows)) v) D <= value (at_node (grown rows) v) D.
  Proof.
    cbn [grown nonneg forallb]. intros H HD. apply andb_true_iff in H as [Hrow H].
    assert (Hs : forall v, sane (at_node (grown rows) v)) by (intros u; apply grown_good, H).
    etransitivity; [apply at_map; [apply relaxed_sane; assumption|exact HD]|].
    apply relaxed_le; assumption.
  Qed.

  Lemma grown_link row rows v w D : nonneg (row :: rows) = true -> length D = k -> In (v, w) ls ->
    value (at_node (grown (row :: rows)) v) D
      <= entry ls row (v, w) + value (at_node (grown rows) w) D.
  Proof.
    cbn [grown nonneg forallb]. intros H HD Hl. apply andb_true_iff in H as [Hrow H].
    assert (Hs : forall v, sane (at_node (grown rows) v)) by (intros u; apply grown_good, H).
    etransitivity; [apply at_map; [apply relaxed_sane; assumption|exact HD]|].
    apply relaxed_link; assumption.
  Qed.
End Computed.

(** The cost of a cheapest tree from some of the sources to all goals, with a row of prices for each
    step; without such a tree at least [far_of] of the prices. *)
Definition tree_cost (ls : list link) (tab : table) (sources gs : list node) : Z :=
  let far := far_of tab in
  value (from_sources far gs (grown far ls gs tab) sources) (repeat true (length gs)).

Lemma skipn_cons {A} t (l : list A) d : (t < length l)%nat -> skipn t l = nth t l d :: skipn (S t) l.
Proof.
  revert t. induction l as [|x l IH]; intros [|t] H; cbn in *; try lia; [reflexivity|].
  apply IH. lia.
Qed.

Lemma nonneg_skipn t tab : nonneg tab = true -> nonneg (skipn t tab) = true.
Proof.
  unfold nonneg. rewrite !forallb_forall. intros H row Hr. apply H.
  rewrite <- (firstn_skipn t tab). apply in_or_app. right. exact Hr.
Qed.

(** Whatever gets to all goals costs at least the cheapest tree. *)
Lemma tree_pays ls tab sources gs moves (reaches : nat -> node -> Prop) n :
  nonneg tab = true ->
  (forall v, reaches O v -> In v sources) ->
  (forall t v, reaches (S t) v -> reaches t v \/
     exists e, In e moves /\ step e = t /\ to e = v /\ reaches t (from e)) ->
  (forall e, In e moves -> In (from e, to e) ls /\ (step e < length tab)%nat) ->
  (forall g, In g gs -> reaches n g) ->
  tree_cost ls tab sources gs <= total (cost (price_in ls (Some (length tab)) tab)) moves.
Proof.
  intros Hpos Hfirst Hspread Hmoves Hgoal. unfold tree_cost. set (far := far_of tab).
  set (pot := fun t v => value (at_node far gs (grown far ls gs (skipn t tab)) v)).
  assert (Good : forall t v, good gs (at_node far gs (grown far ls gs (skipn t tab)) v) /\
    pot t v (serving [v] gs) <= 0).
  { intros t v. apply grown_good, nonneg_skipn, Hpos. }
  assert (Fold : forall vs, sane gs
    (fold_right (fun v h => lower (at_node far gs (grown far ls gs tab) v) h) (nowhere far gs) vs) /\
    forall v D, In v vs -> value (fold_right (fun v h => lower (at_node far gs (grown far ls gs tab) v) h)
      (nowhere far gs) vs) D <= pot O v D).
  { induction vs as [|u vs [[I1 I2] I3]]; cbn [fold_right].
    - split; [apply divided_good, only_sane|intros ? ? []].
    - destruct (Good O u) as [[[S1 S2] _] _]. cbn [skipn] in S1, S2. split; [split|].
      + apply lower_shaped; assumption.
      + rewrite lower_value with (n := length gs) by assumption. lia.
      + intros v D Hv. rewrite lower_value with (n := length gs) by assumption.
        destruct Hv as [->|Hv]; [apply Z.le_min_l|].
        etransitivity; [apply Z.le_min_r|apply I3, Hv]. }
  destruct (Fold sources) as [Fs Fv]. destruct (divided_good gs _ Fs) as [[Fd1 Fd2] Fd3].
  apply tree_costs with (reaches := reaches) (n := n) (potential := pot)
    (first := value (from_sources far gs (grown far ls gs tab) sources)); auto.
  - intros t l. apply price_nonneg, Hpos.
  - intros t v D HD. unfold pot. destruct (Nat.ltb_spec t (length tab)) as [Ht|Ht].
    + pose proof (nonneg_skipn t tab Hpos) as P. rewrite (skipn_cons t tab []) in * by exact Ht.
      apply grown_waits; assumption.
    + rewrite !skipn_all2 by lia. lia.
  - intros e D He HD. destruct (Hmoves e He) as [Hl Ht]. unfold pot.
    pose proof (nonneg_skipn (step e) tab Hpos) as P.
    rewrite (skipn_cons (step e) tab []) in * by exact Ht. apply grown_link; assumption.
  - intros t v A B D. apply Good.
  - intros t v. destruct (Good t v) as [[[_ H] _] _]. unfold pot. rewrite H. lia.
  - intros v. apply Good.
  - unfold from_sources. rewrite Fd2. lia.
  - intros v D Hv HD. unfold from_sources. etransitivity; [apply (divided_le (length gs)); apply Fs || exact HD|].
    apply Fv, Hfirst, Hv.
Qed.
