(** * Certificates by prices: paths to several nodes share the price of a send

    A chunk may be copied, so one send can be part of its paths to several nodes. The price of the
    send is divided among them. Each path costs at least the cheapest one under its share. *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool Permutation.
From Syncoll Require Import Definitions Sums Paths Prices.
Import ListNotations.
Open Scope Z_scope.

(** ** Data spreads over sends *)

Section Reach.
  Variables (m : machine) (chunks : list chunk) (a : algorithm).

  Lemma own_in i e c : In e (sends a) -> what e = c -> N.to_nat c = i -> In e (own (sends a) i).
  Proof. intros H <- <-. apply filter_In. split; [exact H|]. apply Nat.eqb_eq. reflexivity. Qed.

  Section Copies.
    Hypothesis ok : valid chunks a m false.

    Lemma holds_S t c v : holds chunks a (S t) c v -> holds chunks a t c v \/
      exists e, In e (own (sends a) (N.to_nat c)) /\ step e = t /\ to e = v /\
        holds chunks a t c (from e).
    Proof.
      inversion 1 as [|? ? ? H'|e He H']; subst; [left; exact H'|]. right. exists e.
      split; [eapply own_in; eauto|auto].
    Qed.

    Lemma holds_O c v : holds chunks a 0 c v -> exists x, is_chunk chunks c x /\ In v (pre x).
    Proof. inversion 1; subst. eauto. Qed.
  End Copies.

  Section Sums.
    Hypothesis ok : valid chunks a m true.

    (** Node v has a sum in which the contribution of node s is. *)
    Definition knows (c : N) (s : node) (t : nat) (v : node) : Prop :=
      exists X, has chunks a t c v X /\ In s X.

    Lemma forms_knows t c v X s : forms chunks a t c v X -> In s X -> knows c s t v.
    Proof.
      intros [parts [H [Hp _]]] Hs. apply Permutation_sym in Hp.
      apply (Permutation_in _ Hp) in Hs. apply in_concat in Hs as [Y [HY Hs]]. exists Y. auto.
    Qed.

    Lemma knows_S t c s v : knows c s (S t) v -> knows c s t v \/
      exists e, In e (own (sends a) (N.to_nat c)) /\ step e = t /\ to e = v /\ knows c s t (from e).
    Proof.
      intros [X [H Hs]]. inversion H as [|? ? ? ? H'|g e Hg He]; subst; [left; exists X; auto|].
      right. unfold arriving in Hs. apply in_concat in Hs as [Y [HY Hs]].
      apply in_map_iff in HY as [e' [<- He']].
      assert (In e' (sends a)) by (apply in_concat; eauto).
      assert (E : what e' = what e /\ to e' = to e /\ step e' = step e).
      { destruct (arrivals_valid _ _ _ _ ok g Hg) as [[e0 ->]|[_ [[d [w [u Ha]]] _]]].
        - destruct He as [<-|[]], He' as [<-|[]]. auto.
        - destruct (Ha e He) as [-> [-> ->]], (Ha e' He') as [-> [-> ->]]. auto. }
      destruct E as [E1 [E2 E3]]. exists e'. split; [eapply own_in; eauto; congruence|].
      repeat split; auto.
      destruct (senders_valid _ _ _ _ ok e' ltac:(assumption)) as [_ Hf].
      rewrite <- E1, <- E3. eapply forms_knows; eauto.
    Qed.

    Lemma knows_O c s v : knows c s 0 v -> v = s /\ exists x, is_chunk chunks c x /\ In s (pre x).
    Proof.
      intros [X [H Hs]]. inversion H; subst. destruct Hs as [<-|[]]. eauto.
    Qed.
  End Sums.
End Reach.

(** ** Shares *)

(** A part of the prices of links, for paths to [goal]; [users] are classes of chunks that need
    their data there, each with a node where it starts. If the collective combines, the path begins
    at that node; else at any node of [pre]. *)
Record share := Share { goal : node; parts : table; users : list (chunk * node) }.

Definition mem (v : node) (l : list node) : bool := existsb (N.eqb v) l.

Lemma mem_in v l : mem v l = true <-> In v l.
Proof.
  unfold mem. rewrite existsb_exists. split.
  - intros [w [H E]]. apply N.eqb_eq in E. subst. exact H.
  - intros H. exists v. rewrite N.eqb_refl. auto.
Qed.

Section Shares.
  Variables (m : machine) (k : collective) (nodes : nat) (most : option nat).

  Definition origins (x : chunk) (s : node) : list node := if combining k then [s] else pre x.

  Definition least (far : Z) (c : costs) (vs : list node) : Z :=
    fold_right (fun v z => Z.min (get far c v) z) far vs.

  Lemma least_le far c vs v : In v vs -> least far c vs <= get far c v.
  Proof. induction vs as [|w vs IH]; cbn; [tauto|]. intros [->|H]; [apply Z.le_min_l|].
    apply IH in H. etransitivity; [apply Z.le_min_r|exact H]. Qed.

  (** A payment of a class: the part of the prices, and the cost of the cheapest path. *)
  Definition paid := (chunk * (table * Z))%type.

  Definition pays_user (sh : share) (c : costs) (u : chunk * node) : option paid :=
    let (x, s) := u in
    let z := least (far_of (parts sh)) c (origins x s) in
    if mem (goal sh) (post x) && mem s (pre x) && (z <? far_of (parts sh))
    then Some (x, (parts sh, z)) else None.

  Fixpoint all_some {A} (l : list (option A)) : option (list A) :=
    match l with
    | [] => Some []
    | Some x :: l' => match all_some l' with Some ys => Some (x :: ys) | None => None end
    | None :: _ => None
    end.

  Lemma all_some_in {A} l ys (y : A) : all_some l = Some ys -> In y ys -> In (Some y) l.
  Proof.
    revert ys. induction l as [|[x|] l IH]; cbn; intros ys H Hy; try discriminate.
    - injection H as <-. destruct Hy.
    - destruct (all_some l) as [zs|]; [|discriminate]. injection H as <-.
      destruct Hy as [->|Hy]; [left; reflexivity|right; eauto].
  Qed.

  Definition pays_share (sh : share) : option (list paid) :=
    if nonneg (parts sh) then
      match cheapest (links m) nodes most (parts sh) (goal sh) with
      | Some c => all_some (map (pays_user sh c) (users sh))
      | None => None
      end
    else None.

  (** What a payment means: each chunk of its class pays it, under this part of the prices. *)
  Definition is_paid (x : chunk) (tab : table) (z : Z) : Prop :=
    forall chunks a, valid chunks a m (combining k) ->
    match most with Some s => (steps a <= s)%nat | None => True end ->
    forall i, nth_error chunks i = Some x ->
    z <= total (cost (price_in (links m) most tab)) (own (sends a) i).

  (** A path of each chunk pays it: at most one send in each step. *)
  Definition is_paid_on_path (x : chunk) (tab : table) (z : Z) : Prop :=
    forall chunks a, valid chunks a m (combining k) ->
    match most with Some s => (steps a <= s)%nat | None => True end ->
    forall i, nth_error chunks i = Some x ->
    is_path_in (own (sends a) i) (cost (price_in (links m) most tab)) z.

  Lemma paid_on_path x tab z : nonneg tab = true -> is_paid_on_path x tab z -> is_paid x tab z.
  Proof.
    intros Hpos H chunks a Hok Hmost i Hi. apply path_in_all; [|exact (H _ _ Hok Hmost _ Hi)].
    intros. apply price_nonneg, Hpos.
  Qed.

  (** The sends of a chunk cost at least the cheapest path to a node that needs it. *)
  Lemma reach_pays tab d c chunks a x s i :
    cheapest (links m) nodes most tab d = Some c ->
    mem d (post x) = true -> mem s (pre x) = true -> valid chunks a m (combining k) ->
    match most with Some s => (steps a <= s)%nat | None => True end ->
    nth_error chunks i = Some x ->
    is_path_in (own (sends a) i) (cost (price_in (links m) most tab))
      (least (far_of tab) c (origins x s)).
  Proof.
    intros Hc Hg Hs Hok Hmost Hi. apply mem_in in Hg, Hs.
    assert (Hc' : is_chunk chunks (N.of_nat i) x) by (unfold is_chunk; rewrite Nat2N.id; exact Hi).
    assert (Hm : forall e, In e (own (sends a) i) ->
      In (from e, to e) (links m) /\ (step e < steps a)%nat).
    { intros e He. apply filter_In in He as [He _]. apply (sends_valid _ _ _ _ Hok e He). }
    unfold origins. destruct (combining k) eqn:Hk.
    - apply path_costs with (nodes := nodes) (goal := d) (c := c) (n := steps a)
        (reaches := knows chunks a (N.of_nat i) s); auto.
      + intros v H. apply knows_O in H as [-> _]. apply least_le. left. reflexivity.
      + intros t v H. apply (knows_S m) in H; [|exact Hok]. rewrite Nat2N.id in H. exact H.
      + apply (forms_knows chunks a) with (X := pre x); [|exact Hs].
        exact (post_valid _ _ _ _ Hok _ _ _ Hc' Hg).
    - apply path_costs with (nodes := nodes) (goal := d) (c := c) (n := steps a)
        (reaches := fun t v => holds chunks a t (N.of_nat i) v); auto.
      + intros v H. apply holds_O in H as [y [Hy Hv]]. apply least_le.
        unfold is_chunk in *. congruence.
      + intros t v H. apply holds_S in H. rewrite Nat2N.id in H. exact H.
      + exact (post_valid _ _ _ _ Hok _ _ _ Hc' Hg).
  Qed.

  Lemma pays_share_sound sh l x tab z : pays_share sh = Some l -> In (x, (tab, z)) l ->
    nonneg tab = true /\ is_paid_on_path x tab z.
  Proof.
    unfold pays_share. destruct (nonneg (parts sh)) eqn:Hpos; [|discriminate].
    destruct (cheapest _ _ _ _ _) as [c|] eqn:Hc; [|discriminate].
    intros Hl Hin. apply (all_some_in _ _ _ Hl) in Hin. apply in_map_iff in Hin as [[y s] [H _]].
    unfold pays_user in H. destruct (_ && _) eqn:E in H; [|discriminate].
    injection H as -> <- <-. apply andb_true_iff in E as [E _]. apply andb_true_iff in E as [Hg Hs].
    split; [exact Hpos|]. intros chunks a Hok Hmost i Hi. eapply reach_pays; eauto.
  Qed.

  (** ** The shares of a class are at most the prices *)

  Fixpoint add_rows (r s : list Z) : list Z :=
    match r, s with
    | x :: r', y :: s' => x + y :: add_rows r' s'
    | [], s => s
    | r, [] => r
    end.
  Fixpoint add_tables (r s : table) : table :=
    match r, s with
    | x :: r', y :: s' => add_rows x y :: add_tables r' s'
    | [], s => s
    | r, [] => r
    end.
  Fixpoint le_rows (r s : list Z) : bool :=
    match r, s with
    | x :: r', y :: s' => (x <=? y) && le_rows r' s'
    | [], s => forallb (Z.leb 0) s
    | _ :: _, [] => false
    end.
  Fixpoint le_tables (r s : table) : bool :=
    match r, s with
    | x :: r', y :: s' => le_rows x y && le_tables r' s'
    | [], s => nonneg s
    | _ :: _, [] => false
    end.

  Lemma add_rows_nth r s i : nth i (add_rows r s) 0 = nth i r 0 + nth i s 0.
  Proof.
    revert s i. induction r as [|x r IH]; intros [|y s] [|i]; cbn; try lia. apply IH.
  Qed.

  Lemma add_tables_nth r s t i :
    nth i (nth t (add_tables r s) []) 0 = nth i (nth t r []) 0 + nth i (nth t s []) 0.
  Proof.
    pose (f := fun l => nth i l 0). change (f (nth t (add_tables r s) []) = f (nth t r []) + f (nth t s [])).
    assert (E : f [] = 0) by (unfold f; destruct i; reflexivity).
    assert (G : forall x y, f (add_rows x y) = f x + f y) by (intros; apply add_rows_nth).
    revert s t. generalize f, E, G. clear. intros f E G.
    induction r as [|x r IH]; intros [|y s] [|t]; cbn [add_tables nth];
      rewrite ?G, ?IH, ?E; lia.
  Qed.

  Lemma le_rows_nth r s i : le_rows r s = true -> nth i r 0 <= nth i s 0.
  Proof.
    revert s i. induction r as [|x r IH]; intros [|y s] i H; cbn in H; try discriminate.
    - lia.
    - replace (nth i [] 0) with 0 by (destruct i; reflexivity). apply nth_nonneg. exact H.
    - apply andb_true_iff in H as [H1 H2]. apply Z.leb_le in H1. destruct i; cbn; [exact H1|auto].
  Qed.

  Lemma le_tables_nth r s t i : le_tables r s = true ->
    nth i (nth t r []) 0 <= nth i (nth t s []) 0.
  Proof.
    revert s t. induction r as [|x r IH]; intros [|y s] t H; cbn in H; try discriminate.
    - lia.
    - replace (nth t [] []) with (@nil Z) by (destruct t; reflexivity).
      replace (nth i [] 0) with 0 by (destruct i; reflexivity).
      apply nth_nonneg, row_nonneg. exact H.
    - apply andb_true_iff in H as [H1 H2]. destruct t; cbn; [apply le_rows_nth, H1|auto].
  Qed.

  Variables (whole : list paid) (prices : table).
  Notation of_link tab := (cost (price_in (links m) most tab)).

  Definition of_class (x : chunk) : list (table * Z) :=
    map snd (filter (fun p => if chunk_eq (fst p) x then true else false) whole).
  Definition pay (x : chunk) : Z := total snd (of_class x).
  Definition shares_fit (x : chunk) : bool :=
    le_tables (fold_right add_tables [] (map fst (of_class x))) prices.

  Lemma of_class_in x tab z : In (tab, z) (of_class x) -> In (x, (tab, z)) whole.
  Proof.
    intros H. apply in_map_iff in H as [[y [tab' z']] [E H]]. cbn in E. injection E as -> ->.
    apply filter_In in H as [H Hy]. cbn in Hy. destruct (chunk_eq y x) as [->|]; [exact H|discriminate].
  Qed.

  (** What sends pay for the shares they pay for the whole prices. *)
  Lemma shares_pay x moves : shares_fit x = true ->
    (forall tab z, In (tab, z) (of_class x) -> z <= total (of_link tab) moves) ->
    pay x <= total (of_link prices) moves.
  Proof.
    intros Hfit H. unfold pay. set (ps := of_class x) in *.
    transitivity (total (fun p => total (of_link (fst p)) moves) ps).
    { apply total_le. intros [tab z] Hp. apply H, Hp. }
    rewrite total_swap. apply total_le. intros e He.
    unfold cost, price_in, entry.
    set (j := position (links m) (from e, to e)).
    unfold shares_fit in Hfit. fold ps in Hfit.
    assert (G : forall t, total (fun p => nth j (nth t (fst p) []) 0) ps
      <= nth j (nth t prices []) 0).
    { intros t. etransitivity; [|apply le_tables_nth, Hfit]. clear.
      induction ps as [|p ps IH]; cbn [total map fold_right].
      - destruct t; cbn; destruct j; cbn; lia.
      - rewrite add_tables_nth. apply Zplus_le_compat_l. exact IH. }
    unfold row_of. destruct most; apply G.
  Qed.

  Lemma class_pays x : (forall tab z, In (x, (tab, z)) whole -> is_paid x tab z) ->
    shares_fit x = true -> is_paid x prices (pay x).
  Proof.
    intros H Hfit chunks a Hok Hmost i Hi. apply shares_pay; [exact Hfit|].
    intros tab z Hp. apply of_class_in in Hp. exact (H _ _ Hp chunks a Hok Hmost i Hi).
  Qed.

  (** A class with a single share: it is paid on a path. *)
  Definition is_single (x : chunk) : bool := (length (of_class x) <=? 1)%nat.

  Lemma single_pays x : (forall tab z, In (x, (tab, z)) whole -> is_paid_on_path x tab z) ->
    shares_fit x = true -> is_single x = true -> is_paid_on_path x prices (pay x).
  Proof.
    intros H Hfit Hone chunks a Hok Hmost i Hi. apply Nat.leb_le in Hone.
    pose proof (shares_pay x) as P. pose proof (of_class_in x) as I. unfold pay in *.
    destruct (of_class x) as [|[tab z] [|? ?]]; cbn in Hone; [| |lia].
    - exists []. repeat split; [intros ? []|constructor|cbn; lia].
    - destruct (H tab z (I tab z (or_introl eq_refl)) chunks a Hok Hmost i Hi) as [path [P1 [P2 P3]]].
      exists path. repeat split; auto. apply (P path Hfit). intros ? ? [[= <- <-]|[]]. exact P3.
  Qed.
End Shares.
