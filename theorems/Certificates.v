(** * Certificates: the methods, checked by a program whose soundness is proved *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool.
From Syncoll Require Import Definitions Sums Paths Prices Shares Counting Trees Informed Spanning Completing.
Import ListNotations.
Open Scope Z_scope.

Inductive certificate :=
(** Prices for bounds in each step (with [None] one row for all steps), and shares of them. A round
    has room for sends worth at most [unit]. *)
| ByPrices (most : option nat) (unit : Q) (prices : table) (shares : list share)
(** The bounds [cover] have all links that leave the nodes [inside]. Of [leaving] classes of chunks
    start inside, and are needed at a node outside. *)
| ByCut (inside : list node) (cover : list N) (leaving : list (node * list (chunk * node)))
(** A part for each node, and prices for bounds: a send between parts costs [one] at least. With
    [moved], chunks with a single contributor pay for a path. *)
| BySends (parts : list N) (moved : bool) (one : Z) (prices : list Z)
(** Prices, and trees with parts of them. If all prices of links are multiples of [multiple], so is
    what a chunk pays. *)
| ByTrees (most : nat) (unit : Q) (multiple : Z) (prices : table) (trees : list tree)
(** Prices, and for classes of chunks the cases of the first node with the sum. *)
| ByCompletions (most : nat) (unit : Q) (multiple : Z) (prices : table)
    (cases : list (chunk * list case)).

Definition steps_of (c : certificate) : option nat :=
  match c with
  | ByPrices most _ _ _ => most
  | ByTrees most _ _ _ _ | ByCompletions most _ _ _ _ => Some most
  | ByCut _ _ _ | BySends _ _ _ _ => None
  end.

Fixpoint distinct {A} (eqb : A -> A -> bool) (l : list A) : bool :=
  match l with [] => true | x :: l' => negb (existsb (eqb x) l') && distinct eqb l' end.

Lemma distinct_nodup {A} (eqb : A -> A -> bool) l :
  (forall x y, eqb x y = true <-> x = y) -> distinct eqb l = true -> NoDup l.
Proof.
  intros He. induction l as [|x l IH]; cbn; intros H; constructor.
  - apply andb_true_iff in H as [H _]. apply negb_true_iff in H. intros Hin.
    rewrite <- not_true_iff_false in H. apply H, existsb_exists. exists x. split; [exact Hin|].
    apply He. reflexivity.
  - apply andb_true_iff in H as [_ H]. auto.
Qed.

Section Check.
  Variables (m : machine) (k : collective) (nodes : nat).

  Definition settles (unit r : Q) (z : Z) : bool :=
    Qeq_bool (r * unit) (inject_Z z) && (negb (Qle_bool unit 0) || Qeq_bool r 0).

  Lemma settles_sound unit r z : settles unit r z = true ->
    (r * unit == inject_Z z)%Q /\ ((0 < unit)%Q \/ (r == 0)%Q).
  Proof.
    unfold settles. rewrite andb_true_iff, orb_true_iff, negb_true_iff. intros [H1 H2].
    split; [apply Qeq_bool_iff, H1|]. destruct H2 as [H2|H2].
    - left. apply Qnot_le_lt. intros H. apply Qle_bool_iff in H. congruence.
    - right. apply Qeq_bool_iff, H2.
  Qed.

  (** [paid] are payments, each under a part of the prices; [None] if one is wrong. [each] is a
      condition on the payments of each class. *)
  Definition check_paid (each : list paid -> chunk -> bool) (most : option nat) (unit : Q) (multiple : Z) (prices : table)
    (paid : option (list paid)) (r : Q) : bool :=
    let of_links := link_prices m prices in
    (length prices =? match most with Some s => s | None => 1 end)%nat
    && rooms_fit m prices unit
    && match paid with
       | None => false
       | Some whole =>
           forallb (fun c => shares_fit whole of_links (fst c) && each whole (fst c)) (classes k)
           && settles unit r (payment (fun x => rounded of_links multiple (pay whole x)) k)
       end.

  (** If a bound counts several sends as one, a class has one share. *)
  Definition check_prices (most : option nat) (unit : Q) (prices : table) (shares : list share)
    (r : Q) : bool :=
    check_paid (fun whole x => forallb counts_each (bounds m) || is_single whole x) most unit 0 prices
      (option_map (@concat _) (all_some (map (pays_share m k nodes most) shares))) r.

  Definition check_trees (most : nat) (unit : Q) (multiple : Z) (prices : table)
    (trees : list tree) (r : Q) : bool :=
    prices_sends m prices && check_paid (fun _ _ => true) (Some most) unit multiple prices
      (option_map (@concat _) (all_some (map (pays_tree m k most) trees))) r.

  Definition check_completions (most : nat) (unit : Q) (multiple : Z) (prices : table)
    (cases : list (chunk * list case)) (r : Q) : bool :=
    combining k && prices_sends m prices
    && check_paid (fun _ _ => true) (Some most) unit multiple prices
      (all_some (map (pays_cases m most nodes (link_prices m prices)) cases)) r.

  Definition cut_row (inside : list node) : list Z :=
    map (fun l => if mem (fst l) inside && negb (mem (snd l) inside) then 1 else 0) (links m).

  Fixpoint cover_row {A} (bs : list A) (cover : list N) (j : N) : list Z :=
    match bs with
    | [] => []
    | _ :: bs' => (if mem j cover then 1 else 0) :: cover_row bs' cover (N.succ j)
    end.

  (** A cut is a certificate by prices: each bound of the cover has the price 1. *)
  Definition check_cut (inside : list node) (cover : list N)
    (leaving : list (node * list (chunk * node))) (r : Q) : bool :=
    let row := cover_row (bounds m) cover 0 in
    distinct N.eqb inside && distinct N.eqb cover
    && forallb (fun j => (j <? N.of_nat (length (bounds m)))%N) cover
    && check_prices None (room (of_bounds m row)) [row]
         (map (fun one => Share (fst one) [cut_row inside] (snd one)) leaving) r.

  Definition part_in (parts : list N) (v : node) : N := nth (N.to_nat v) parts 0%N.

  Definition all_nodes : list node := map N.of_nat (seq 0 nodes).

  (** Paths of chunks with a single contributor, under the whole prices. *)
  Definition moved_paths (of_links : table) : list paid :=
    flat_map (fun d =>
      let to_d := filter (fun c => mem d (post (fst c))
        && (length (pre (fst c)) =? 1)%nat) (classes k) in
      let us := flat_map (fun c => map (fun s => (fst c, s)) (pre (fst c))) to_d in
      match pays_share m k nodes None (Share d of_links us) with Some l => l | None => [] end)
      all_nodes.

  Definition most_of (ps : list (table * Z)) : Z := fold_right (fun p z => Z.max (snd p) z) 0 ps.

  Definition pay_sends (part : node -> N) (moved : bool) (one : Z) (paths : list paid) (x : chunk)
    : Z := Z.max (one * needs part x moved) (most_of (of_class paths x)).

  Definition check_sends (parts : list N) (moved : bool) (one : Z) (prices : list Z) (r : Q)
    : bool :=
    let part := part_in parts in
    let unit := room (of_bounds m prices) in
    let of_links := link_prices m [prices] in
    let paths := if moved then moved_paths of_links else [] in
    combining k && prices_sends m [prices] && (length parts =? nodes)%nat && (0 <=? one) && rooms_fit m [prices] unit
    && forallb (fun l => (part (fst l) =? part (snd l))%N || (one <=? link_price m prices l))
         (links m)
    && settles unit r (payment (pay_sends part moved one paths) k).

  Definition check_certificate (c : certificate) (r : Q) : bool :=
    match c with
    | ByPrices most unit prices shares => check_prices most unit prices shares r
    | ByCut inside cover leaving => check_cut inside cover leaving r
    | BySends parts moved one prices => check_sends parts moved one prices r
    | ByTrees most unit multiple prices trees => check_trees most unit multiple prices trees r
    | ByCompletions most unit multiple prices cases =>
        check_completions most unit multiple prices cases r
    end.

  (** The classes of a collective are different, and [per] is not 0. *)
  Definition same_chunk (x y : chunk) : bool := if chunk_eq x y then true else false.
  Definition well_formed : bool :=
    (0 <? per k)%N && distinct same_chunk (map fst (classes k)).

  Hypothesis formed : well_formed = true.

  Lemma formed_per : (0 < per k)%N.
  Proof. unfold well_formed in formed. apply andb_true_iff in formed as [H _]. apply N.ltb_lt, H. Qed.

  Lemma formed_distinct : NoDup (map fst (classes k)).
  Proof.
    unfold well_formed in formed. apply andb_true_iff in formed as [_ H].
    apply distinct_nodup with (eqb := same_chunk); [|exact H].
    intros x y. unfold same_chunk. destruct (chunk_eq x y); split; congruence.
  Qed.

  Lemma check_paid_sound each most unit multiple prices paid r :
    check_paid each most unit multiple prices paid r = true ->
    (forall whole x tab z, paid = Some whole -> In (x, (tab, z)) whole ->
      is_paid m k most x tab z /\
      (prices_sends m prices = false -> is_paid_on_path m k most x tab z)) ->
    (forall whole x, each whole x = true -> prices_sends m prices = false ->
      is_single whole x = true) ->
    costs_at_least m k most (r / inject_Z (Z.of_N (per k))).
  Proof.
    unfold check_paid. intros H Hpaid Heach. apply andb_true_iff in H as [H H2].
    apply andb_true_iff in H as [_ Hfit]. destruct paid as [whole|]; [|discriminate].
    apply andb_true_iff in H2 as [Hshares Hr]. apply settles_sound in Hr as [Hr Hunit].
    rewrite forallb_forall in Hshares.
    assert (Hclass : forall x, In x (map fst (classes k)) ->
      shares_fit whole (link_prices m prices) x = true /\ each whole x = true).
    { intros x Hx. apply in_map_iff in Hx as [c [<- Hc]]. apply andb_true_iff, Hshares, Hc. }
    eapply priced with (prices := prices) (unit := unit); eauto using formed_per, formed_distinct.
    intros chunks a Hok Hmost.
    assert (Hall : exists kept, has_room m most prices a kept /\
      forall i x, nth_error chunks i = Some x -> In x (map fst (classes k)) -> pay whole x
        <= total (cost (price_in (links m) most (link_prices m prices))) (own kept i)).
    { destruct (prices_sends m prices) eqn:Hsends.
      - exists (sends a). split; [apply all_have_room, Hsends|]. intros i x Hi Hx.
        apply (class_pays m k most whole) with (chunks := chunks); auto.
        + intros tab z Hp. apply (Hpaid whole x tab z eq_refl Hp).
        + apply Hclass, Hx.
      - apply (paths_kept m k most prices chunks a); [exact Hok|]. intros i x Hi Hx.
        destruct (Hclass x Hx) as [H1 H2]. apply (single_pays m k most whole) with (chunks := chunks); auto.
        intros tab z Hp. apply (Hpaid whole x tab z eq_refl Hp), eq_refl. }
    destruct Hall as [kept [H1 H2]]. exists kept. split; [exact H1|].
    intros i x Hi Hx. apply rounded_le, H2; assumption.
  Qed.

  Lemma counts_each_sound prices : forallb counts_each (bounds m) = true -> prices_sends m prices = true.
  Proof.
    rewrite forallb_forall. intros H. unfold prices_sends. rewrite forallb_forall. intros row _.
    rewrite forallb_forall. intros [b z] Hb. apply in_combine_l in Hb. cbn. rewrite (H b Hb).
    apply orb_true_r.
  Qed.

  Lemma check_prices_sound most unit prices shares r :
    check_prices most unit prices shares r = true ->
    costs_at_least m k most (r / inject_Z (Z.of_N (per k))).
  Proof.
    intros H. apply check_paid_sound in H; [exact H| |]; clear H.
    - intros whole x tab z H Hin.
      destruct (all_some _) as [paid|] eqn:Hall; [|discriminate]. injection H as <-.
      apply in_concat in Hin as [l [Hl Hin]].
      apply (all_some_in _ _ _ Hall) in Hl. apply in_map_iff in Hl as [sh [Hsh _]].
      destruct (pays_share_sound m k nodes most sh l x tab z Hsh Hin) as [Hpos Hp].
      split; [apply paid_on_path|]; auto.
    - intros whole x H Hcount. apply orb_true_iff in H as [H|H]; [|exact H].
      rewrite (counts_each_sound prices H) in Hcount. discriminate.
  Qed.

  Lemma check_trees_sound most unit multiple prices trees r :
    check_trees most unit multiple prices trees r = true ->
    costs_at_least m k (Some most) (r / inject_Z (Z.of_N (per k))).
  Proof.
    unfold check_trees. intros H. apply andb_true_iff in H as [Hs H].
    apply check_paid_sound in H; [exact H| |]; clear H; [|congruence]. intros whole x tab z H Hin.
    destruct (all_some _) as [paid|] eqn:Hall; [|discriminate]. injection H as <-.
    apply in_concat in Hin as [l [Hl Hin]].
    apply (all_some_in _ _ _ Hall) in Hl. apply in_map_iff in Hl as [t [Ht _]].
    split; [exact (pays_tree_sound m k most t l x tab z Ht Hin)|congruence].
  Qed.

  Lemma check_completions_sound most unit multiple prices cases r :
    check_completions most unit multiple prices cases r = true ->
    costs_at_least m k (Some most) (r / inject_Z (Z.of_N (per k))).
  Proof.
    unfold check_completions. intros H. apply andb_true_iff in H as [Hk H].
    apply andb_true_iff in Hk as [Hk Hs].
    apply check_paid_sound in H; [exact H| |]; clear H; [|congruence]. intros whole x tab z H Hin.
    apply (all_some_in _ _ _ H) in Hin. apply in_map_iff in Hin as [c [Hc _]].
    split; [exact (pays_cases_sound m most nodes _ k c x tab z Hk Hc)|congruence].
  Qed.

  Lemma most_of_le ps z : 0 <= z -> (forall p, In p ps -> snd p <= z) -> most_of ps <= z.
  Proof.
    intros Hz. induction ps as [|p ps IH]; cbn; intros H; [exact Hz|].
    apply Z.max_lub; [apply H; left; reflexivity|apply IH; intros; apply H; right; assumption].
  Qed.

  Lemma check_sends_sound parts moved one prices r :
    check_sends parts moved one prices r = true ->
    costs_at_least m k None (r / inject_Z (Z.of_N (per k))).
  Proof.
    unfold check_sends. rewrite !andb_true_iff. intros [[[[[[Hk Hs] _] Hone] Hfit] Hlinks] Hr].
    apply Z.leb_le in Hone. apply settles_sound in Hr as [Hr Hunit].
    rewrite forallb_forall in Hlinks.
    eapply priced with (prices := [prices]); eauto using formed_per, formed_distinct.
    intros chunks a Hok _. exists (sends a). split; [apply all_have_room, Hs|]. intros i x Hi _.
    pose proof (link_prices_nonneg m [prices] _ Hfit) as Hpos.
    unfold pay_sends. apply Z.max_lub.
    - rewrite Hk in Hok.
      etransitivity;
        [apply Z.mul_le_mono_nonneg_l, (chunk_needs m chunks a (part_in parts) Hok i x Hi); exact Hone|].
      rewrite <- total_mul. apply total_le. intros e He. apply filter_In in He as [He _].
      destruct (sends_valid _ _ _ _ Hok e He) as [Hl _].
      unfold cost. rewrite price_of_bounds by exact Hl. specialize (Hlinks _ Hl). cbn [fst snd] in Hlinks.
      unfold crosses, between. cbn [fst snd]. destruct (_ =? _)%N; cbn [negb orb] in *.
      + unfold link_price. rewrite Z.mul_0_r. pose proof (price_nonneg (links m) None _ (step e) (from e, to e) Hpos) as P.
        rewrite price_of_bounds in P by exact Hl. exact P.
      + apply Z.leb_le in Hlinks. unfold row_of. cbn [nth]. lia.
    - apply most_of_le; [apply total_nonneg; intros; apply price_nonneg, Hpos|].
      intros [tab z] Hp. unfold of_class in Hp. apply in_map_iff in Hp as [[y q] [E Hp]].
      cbn in E. subst q. apply filter_In in Hp as [Hp Hy]. cbn [fst snd] in *.
      destruct (chunk_eq y x) as [->|]; [|discriminate].
      destruct moved; [|destruct Hp]. unfold moved_paths in Hp.
      apply in_flat_map in Hp as [d [_ Hp]].
      set (us := flat_map _ _) in Hp.
      destruct (pays_share m k nodes None (Share d (link_prices m [prices]) us)) as [l|] eqn:E;
        [|destruct Hp].
      assert (tab = link_prices m [prices]) as ->.
      { unfold pays_share in E. destruct (nonneg _); [|discriminate].
        destruct (cheapest _ _ _ _ _); [|discriminate].
        apply (all_some_in _ _ _ E) in Hp. apply in_map_iff in Hp as [[y s] [Hu _]].
        unfold pays_user in Hu. cbn in Hu. destruct (_ && _) in Hu; [|discriminate].
        injection Hu as _ <- _. reflexivity. }
      destruct (pays_share_sound m k nodes None _ l x _ z E Hp) as [P1 P2].
      exact (paid_on_path m k None x _ z P1 P2 chunks a Hok I i Hi).
  Qed.

  Theorem check_certificate_sound c r : check_certificate c r = true ->
    costs_at_least m k (steps_of c) (r / inject_Z (Z.of_N (per k))).
  Proof.
    destruct c as [most unit prices shares|inside cover leaving|parts moved one prices|
      most unit multiple prices trees|most unit multiple prices cases]; cbn.
    - apply check_prices_sound.
    - unfold check_cut. intros H. apply andb_true_iff in H as [_ H]. apply check_prices_sound in H.
      exact H.
    - apply check_sends_sound.
    - apply check_trees_sound.
    - apply check_completions_sound.
  Qed.
End Check.
