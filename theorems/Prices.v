(** * Prices: a round has room for sends of a certain worth, and each chunk pays

    Put prices on bounds in steps, so that a round of any step has room for sends worth at most
    [unit]. If each chunk pays at least [pay] for its own sends, then R * [unit] is at least the sum
    of the payments. Prices are whole numbers here: they count a fraction such as 1/12. *)

From Coq Require Import List NArith ZArith QArith Lia Lqa Arith Bool.
From Syncoll Require Import Definitions Sums Paths.
Import ListNotations.
Open Scope Z_scope.

Section Priced.
  Variables (m : machine) (k : collective).
  Variables (most : option nat) (prices : table) (unit : Q). (* a row has an entry for each bound *)

  Definition of_bounds (row : list Z) : list (bound * Z) := combine (bounds m) row.

  (** The price of a link is the sum of the prices of the bounds with it. *)
  Definition link_price (row : list Z) (l : link) : Z :=
    total (fun bz => if existsb (link_eqb l) (over (fst bz)) then snd bz else 0) (of_bounds row).
  Definition link_prices : table := map (fun row => map (link_price row) (links m)) prices.

  (** What a round has room for. *)
  Fixpoint room (bzs : list (bound * Z)) : Q :=
    match bzs with
    | [] => 0%Q
    | (b, z) :: bzs' => Qred (inject_Z z * capacity b + room bzs')
    end.

  Definition rooms_fit : bool :=
    nonneg prices && forallb (fun row => Qle_bool (room (of_bounds row)) unit) prices
    && Qle_bool 0 unit.

  Hypothesis fits : rooms_fit = true.

  Lemma fits_nonneg : nonneg prices = true.
  Proof. unfold rooms_fit in fits. apply andb_true_iff in fits as [H _].
    apply andb_true_iff in H as [H _]. exact H. Qed.

  Lemma fits_unit : (0 <= unit)%Q.
  Proof. unfold rooms_fit in fits. apply andb_true_iff in fits as [_ H]. apply Qle_bool_iff, H. Qed.

  Lemma fits_row t : (room (of_bounds (row_of most prices t)) <= unit)%Q.
  Proof.
    assert (H0 : (room (of_bounds []) <= unit)%Q).
    { unfold of_bounds. destruct (bounds m); cbn; apply fits_unit. }
    assert (H : forall i, (room (of_bounds (nth i prices [])) <= unit)%Q).
    { intros i. destruct (nth_in_or_default i prices []) as [Hin| ->]; [|exact H0].
      unfold rooms_fit in fits. apply andb_true_iff in fits as [H _].
      apply andb_true_iff in H as [_ H]. rewrite forallb_forall in H. apply Qle_bool_iff, H, Hin. }
    unfold row_of. destruct most; apply H.
  Qed.

  Lemma link_price_nil l : link_price [] l = 0.
  Proof. unfold link_price, of_bounds. destruct (bounds m); reflexivity. Qed.

  Lemma entry_map ls f l : In l ls -> entry ls (map f ls) l = f l.
  Proof.
    unfold entry. induction ls as [|x ls IH]; cbn [map position In]; [tauto|].
    destruct (link_eqb x l) eqn:E; intros H.
    - apply link_eqb_eq in E. subst. reflexivity.
    - destruct H as [->|H]; [|exact (IH H)].
      rewrite (proj2 (link_eqb_eq l l) eq_refl) in E. discriminate.
  Qed.

  Notation price := (price_in (links m) most link_prices).

  Lemma price_of_bounds t l : In l (links m) -> price t l = link_price (row_of most prices t) l.
  Proof.
    intros Hl.
    assert (H : forall i, entry (links m) (nth i link_prices []) l = link_price (nth i prices []) l).
    { intros i. unfold link_prices. destruct (Nat.ltb_spec i (length prices)) as [Hi|Hi].
      - rewrite nth_indep with (d' := map (link_price []) (links m)) by (rewrite map_length; exact Hi).
        rewrite (map_nth (fun row => map (link_price row) (links m))). apply entry_map, Hl.
      - rewrite !nth_overflow by (try rewrite map_length; exact Hi).
        rewrite link_price_nil. unfold entry. destruct (position (links m) l); reflexivity. }
    unfold price_in, row_of. destruct most; apply H.
  Qed.

  Lemma link_prices_nonneg : nonneg link_prices = true.
  Proof.
    unfold nonneg, link_prices. rewrite forallb_forall. intros row H.
    apply in_map_iff in H as [r [<- Hr]]. rewrite forallb_forall. intros z Hz.
    apply in_map_iff in Hz as [l [<- _]]. apply Z.leb_le. unfold link_price.
    apply total_nonneg. intros [b z] Hbz. cbn. destruct (existsb _ _); [|lia].
    pose proof fits_nonneg as N. unfold nonneg in N. rewrite forallb_forall in N.
    specialize (N r Hr). rewrite forallb_forall in N. apply in_combine_r in Hbz.
    apply Z.leb_le, N, Hbz.
  Qed.

  (** ** Sends that the rounds have room for

      All sends, if no bound with a price counts several as one. Or some sends of each chunk, at most
      one in each step: switches make one of many sends only of a single chunk and in one step. *)

  Definition counts_each (b : bound) : bool :=
    match counts b with EachSend => true | _ => false end.

  Definition prices_sends : bool :=
    forallb (fun row => forallb (fun bz => (snd bz =? 0) || counts_each (fst bz)) (of_bounds row))
      prices.

  Definition number_over (t : nat) (b : bound) (l : list send) : nat :=
    length (filter (fun e => (step e =? t)%nat && is_over b e) l).

  Definition has_room (a : algorithm) (kept : list send) : Prop :=
    incl kept (sends a) /\ forall t b z, In (b, z) (of_bounds (row_of most prices t)) -> z <> 0 ->
      (number_over t b kept <= load a t b)%nat.

  Lemma all_have_room a : prices_sends = true -> has_room a (sends a).
  Proof.
    intros H. split; [apply incl_refl|]. intros t b z Hb Hz. unfold prices_sends in H.
    rewrite forallb_forall in H.
    assert (G : forall i, In (b, z) (of_bounds (nth i prices [])) -> counts b = EachSend).
    { intros i Hi. destruct (nth_in_or_default i prices []) as [Hr|E].
      - specialize (H _ Hr). rewrite forallb_forall in H. specialize (H _ Hi). cbn in H.
        apply orb_true_iff in H as [H|H]; [apply Z.eqb_eq in H; contradiction|].
        unfold counts_each in H. destruct (counts b); congruence.
      - rewrite E in Hi. unfold of_bounds in Hi. destruct (bounds m); destruct Hi. }
    unfold load. rewrite (G match most with Some _ => t | None => O end); [reflexivity|].
    unfold row_of in Hb. destruct most; exact Hb.
  Qed.

  (** If the entries of l have different values of f, and each value is that of some y of l', then
      l' is not shorter. *)
  Lemma not_shorter {A B} (f : A -> nat) (g : B -> nat) l l' : NoDup (map f l) ->
    (forall x, In x l -> exists y, In y l' /\ g y = f x) -> (length l <= length l')%nat.
  Proof.
    intros Hd H. rewrite <- (map_length f), <- (map_length g l').
    apply NoDup_incl_length; [exact Hd|]. intros n Hn. apply in_map_iff in Hn as [x [<- Hx]].
    destruct (H x Hx) as [y [Hy <-]]. apply in_map, Hy.
  Qed.

  (** In one step the sends are of different chunks. *)
  Lemma one_of_each kept t p : (forall i, NoDup (map step (own kept i))) ->
    NoDup (map number (filter (fun e => (step e =? t)%nat && p e) kept)).
  Proof.
    induction kept as [|e kept IH]; intros H; [constructor|].
    assert (H' : forall i, NoDup (map step (own kept i))).
    { intros i. specialize (H i). unfold own in *. cbn in H. destruct (number e =? i)%nat; [|exact H].
      inversion H; assumption. }
    cbn [filter]. destruct (Nat.eqb_spec (step e) t) as [Ht|]; [|apply IH, H'].
    cbn [andb]. destruct (p e); [|apply IH, H']. cbn [map]. constructor; [|apply IH, H'].
    intros E. apply in_map_iff in E as [x [E Hx]]. apply filter_In in Hx as [Hx Ex].
    apply andb_true_iff in Ex as [Ex _]. apply Nat.eqb_eq in Ex.
    specialize (H (number e)). unfold own in H. cbn in H. rewrite Nat.eqb_refl in H. cbn in H.
    inversion_clear H as [|? ? Hn _]. apply Hn. rewrite Ht, <- Ex. apply in_map, filter_In.
    split; [exact Hx|]. apply Nat.eqb_eq, E.
  Qed.

  Lemma paths_have_room chunks a kept : valid chunks a m (combining k) -> incl kept (sends a) ->
    (forall i, NoDup (map step (own kept i))) -> has_room a kept.
  Proof.
    intros Hok Hin Hd. split; [exact Hin|]. intros t b _ _ _. unfold number_over, load.
    pose proof (one_of_each kept t (is_over b) Hd) as D.
    assert (G : forall e, In e (filter (fun e => (step e =? t)%nat && is_over b e) kept) ->
      In e (filter (fun e => (step e =? t)%nat && is_over b e) (sends a))).
    { intros e He. apply filter_In in He as [He E]. apply filter_In. auto. }
    destruct (counts b).
    - apply (not_shorter number number); eauto.
    - apply (not_shorter number (fun y => N.to_nat (fst (fst y)))); [exact D|]. intros e He.
      exists (data e). split; [|reflexivity]. apply nodup_In, in_map, G, He.
    - apply (not_shorter number (fun g => match g with [] => O | e :: _ => number e end));
        [exact D|].
      intros e He. apply G, filter_In in He as [He E]. apply in_concat in He as [g [Hg He]].
      exists g. split; [apply filter_In; split; [exact Hg|]; apply existsb_exists; eauto|].
      destruct (arrivals_valid _ _ _ _ Hok g Hg) as [[e' ->]|[_ [[c [n [u H]]] _]]].
      + destruct He as [->|[]]. reflexivity.
      + destruct g as [|e' g]; [destruct He|]. unfold number.
        destruct (H e He) as [-> _], (H e' (or_introl eq_refl)) as [-> _]. reflexivity.
  Qed.

  (** A path of each chunk. *)
  Lemma paths_kept chunks a (pay : chunk -> Z) : valid chunks a m (combining k) ->
    (forall i x, nth_error chunks i = Some x -> In x (map fst (classes k)) ->
      is_path_in (own (sends a) i) (cost price) (pay x)) ->
    exists kept, has_room a kept /\
      forall i x, nth_error chunks i = Some x -> In x (map fst (classes k)) ->
      pay x <= total (cost price) (own kept i).
  Proof.
    intros Hok H.
    assert (G : forall n, exists kept, incl kept (sends a) /\
      (forall e, In e kept -> (number e < n)%nat) /\ (forall i, NoDup (map step (own kept i))) /\
      forall i x, (i < n)%nat -> nth_error chunks i = Some x -> In x (map fst (classes k)) ->
        pay x <= total (cost price) (own kept i)).
    { induction n as [|n [kept [Hin [Hn [Hd Hp]]]]].
      - exists []. repeat split; [intros ? []|intros ? []|constructor|lia].
      - assert (P : exists path, incl path (own (sends a) n) /\ NoDup (map step path) /\
          forall x, nth_error chunks n = Some x -> In x (map fst (classes k)) ->
            pay x <= total (cost price) path).
        { destruct (nth_error chunks n) as [x|] eqn:E.
          - destruct (in_dec chunk_eq x (map fst (classes k))) as [Hx|Hx].
            + destruct (H n x E Hx) as [path [P1 [P2 P3]]]. exists path. repeat split; auto.
              intros y [= <-] _. exact P3.
            + exists []. repeat split; [intros ? []|constructor|]. intros y [= <-] Hy. contradiction.
          - exists []. repeat split; [intros ? []|constructor|discriminate]. }
        destruct P as [path [P1 [P2 P3]]].
        assert (Pn : forall e, In e path -> In e (sends a) /\ number e = n).
        { intros e He. apply P1, filter_In in He as [He E]. apply Nat.eqb_eq in E. auto. }
        assert (O : forall i, own (path ++ kept) i = if (i =? n)%nat then path else own kept i).
        { intros i. unfold own. rewrite filter_app. destruct (Nat.eqb_spec i n) as [->|Hi].
          - rewrite filter_all, filter_none, app_nil_r; [reflexivity| |].
            + intros e He. apply Nat.eqb_neq. specialize (Hn e He). lia.
            + intros e He. apply Nat.eqb_eq, Pn, He.
          - rewrite filter_none; [reflexivity|]. intros e He. apply Pn in He as [_ ->].
            apply Nat.eqb_neq. auto. }
        exists (path ++ kept). split; [|split; [|split]].
        + intros e He. apply in_app_or in He as [He|He]; [apply Pn, He|apply Hin, He].
        + intros e He. apply in_app_or in He as [He|He]; [apply Pn in He; lia|apply Hn in He; lia].
        + intros i. rewrite O. destruct (i =? n)%nat; auto.
        + intros i x Hi Hx Hk. rewrite O. destruct (Nat.eqb_spec i n) as [->|]; [auto|].
          apply Hp; auto. lia. }
    destruct (G (length chunks)) as [kept [Hin [_ [Hd Hp]]]]. exists kept. split.
    - eapply paths_have_room; eauto.
    - intros i x Hx. apply Hp; [|exact Hx]. apply nth_error_Some. congruence.
  Qed.

  Section OneAlgorithm.
    Variables (chunks : list chunk) (a : algorithm) (kept : list send).
    Hypothesis ok : valid chunks a m (combining k).
    Hypothesis room_for : has_room a kept.

    Lemma kept_valid e : In e kept -> In (from e, to e) (links m) /\ (step e < steps a)%nat.
    Proof. intros He. apply (sends_valid _ _ _ _ ok), room_for, He. Qed.

    Lemma load_costs bzs t : (t < steps a)%nat ->
      (forall b z, In (b, z) bzs -> In b (bounds m) /\ 0 <= z /\
        (z <> 0 -> (number_over t b kept <= load a t b)%nat)) ->
      (inject_Z (total (fun bz => snd bz * Z.of_nat (number_over t (fst bz) kept))%Z bzs)
        <= room bzs * nth t (rounds a) 0)%Q.
    Proof.
      intros Ht. induction bzs as [|[b z] bzs IH]; intros H; cbn [total room fst snd].
      - cbn. rewrite Qmult_0_l. apply Qle_refl.
      - rewrite Qred_correct, inject_Z_plus.
        rewrite Qmult_plus_distr_l. apply Qplus_le_compat; [|apply IH; intros; apply H; right; auto].
        destruct (H b z (or_introl eq_refl)) as [Hb [Hz Hn]].
        apply Qle_trans with (inject_Z (z * Z.of_nat (load a t b))).
        { rewrite <- Zle_Qle. destruct (Z.eq_dec z 0) as [->|Hne]; [lia|]. specialize (Hn Hne). nia. }
        rewrite inject_Z_mult.
        rewrite <- Qmult_assoc, (Qmult_comm (inject_Z z)), (Qmult_comm (inject_Z z)).
        apply Qmult_le_compat_r; [|rewrite Zle_Qle in Hz; exact Hz].
        exact (bandwidth_valid _ _ _ _ ok t b Ht Hb).
    Qed.

    Lemma step_fits t : (t < steps a)%nat ->
      (inject_Z (total (cost price) (filter (fun e => (step e =? t)%nat) kept))
        <= unit * nth t (rounds a) 0)%Q.
    Proof.
      intros Ht. set (row := row_of most prices t).
      assert (E : total (cost price) (filter (fun e => (step e =? t)%nat) kept) =
        total (fun bz => snd bz * Z.of_nat (number_over t (fst bz) kept)) (of_bounds row)).
      { rewrite (total_ext _ (fun e => total (fun bz => if is_over (fst bz) e then snd bz else 0)
          (of_bounds row))).
        - rewrite total_swap. apply total_ext. intros [b z] _. cbn [fst snd]. unfold number_over.
          rewrite <- (total_filter (fun _ => z) (is_over b)), total_const. f_equal. f_equal. f_equal.
          clear. induction kept as [|e l IH]; cbn; [reflexivity|].
          destruct (step e =? t)%nat; cbn; [destruct (is_over b e); cbn; congruence|exact IH].
        - intros e He. apply filter_In in He as [He Hs]. apply Nat.eqb_eq in Hs.
          unfold cost. rewrite Hs. rewrite price_of_bounds; [reflexivity|]. apply kept_valid, He. }
      rewrite E. eapply Qle_trans; [apply load_costs; [exact Ht|]|].
      - intros b z H. split; [eapply in_combine_l, H|]. split; [|apply room_for, H].
        apply in_combine_r in H. unfold row, row_of in H.
        assert (N : forall i, In z (nth i prices []) -> 0 <= z).
        { intros i Hi. pose proof (row_nonneg _ i fits_nonneg) as R. rewrite forallb_forall in R.
          apply Z.leb_le, R, Hi. }
        destruct most; eapply N, H.
      - apply Qmult_le_compat_r; [apply fits_row|].
        apply (rounds_valid _ _ _ _ ok). apply nth_In. exact Ht.
    Qed.
  End OneAlgorithm.

  (** The bound of prices, however the chunks' payments are proved. *)
  Theorem priced (pay : chunk -> Z) (r : Q) :
    (forall chunks a, valid chunks a m (combining k) ->
       match most with Some s => (steps a <= s)%nat | None => True end ->
       exists kept, has_room a kept /\
       forall i x, nth_error chunks i = Some x -> In x (map fst (classes k)) ->
       pay x <= total (cost price) (own kept i)) ->
    NoDup (map fst (classes k)) -> (0 < per k)%N ->
    (r * unit == inject_Z (payment pay k))%Q -> (0 < unit)%Q \/ (r == 0)%Q ->
    costs_at_least m k most (r / inject_Z (Z.of_N (per k))).
  Proof.
    intros Hpay Hdup Hper Hr Hunit C a [chunks [Hi Hok]] Hmost.
    assert (Hper' : (0 < inject_Z (Z.of_N (per k)))%Q)
      by (change 0%Q with (inject_Z 0); rewrite <- Zlt_Qlt; lia).
    assert (HR : (0 <= total_rounds a)%Q).
    { unfold total_rounds. pose proof (rounds_valid _ _ _ _ Hok) as H. clear -H.
      induction (rounds a) as [|q l IH]; cbn; [lra|].
      assert (0 <= q)%Q by (apply H; left; reflexivity).
      assert (0 <= fold_right Qplus 0 l)%Q by (apply IH; intros; apply H; right; auto). lra. }
    destruct Hunit as [Hunit|Hzero].
    2: { setoid_replace (r / inject_Z (Z.of_N (per k)) * inject_Z (Z.of_N C))%Q with 0%Q; [exact HR|].
         rewrite Hzero. field. lra. }
    destruct (Hpay chunks a Hok Hmost) as [kept [Hroom Hkept]].
    assert (Hfit : (inject_Z (total (cost price) kept) <= unit * total_rounds a)%Q).
    { apply sends_fit; [intros t Ht; eapply step_fits; eauto|].
      intros e He. eapply kept_valid; eauto. }
    assert (Hall : total pay chunks <= total (cost price) kept).
    { apply chunks_pay; [intros; apply price_nonneg, link_prices_nonneg|].
      intros i x Hx. apply (Hkept i x Hx).
      destruct Hi as [Hin _]. apply nth_error_In in Hx. destruct (Hin x Hx) as [n Hn].
      apply in_map_iff. exists (x, n). auto. }
    pose proof (instance_pays pay k C chunks Hdup Hi) as Hprop.
    apply (f_equal inject_Z) in Hprop. rewrite !inject_Z_mult in Hprop.
    rewrite Zle_Qle in Hall.
    set (p := inject_Z (Z.of_N (per k))) in *. set (c := inject_Z (Z.of_N C)) in *.
    apply Qmult_le_r with (z := (p * unit)%Q); [nra|].
    setoid_replace (r / p * c * (p * unit))%Q with (r * unit * c)%Q by (field; lra).
    rewrite Hr, <- Hprop.
    setoid_replace (total_rounds a * (p * unit))%Q with ((unit * total_rounds a) * p)%Q by ring.
    apply Qmult_le_compat_r; lra.
  Qed.
End Priced.

(** A table of the values of a function. *)
Definition table_of (ls : list link) (s : nat) (f : nat -> link -> Z) : table :=
  map (fun t => map (f t) ls) (seq 0 s).

Lemma table_of_price ls s f t l : (t < s)%nat -> In l ls ->
  price_in ls (Some s) (table_of ls s f) t l = f t l.
Proof.
  intros Ht Hl. unfold price_in, row_of, table_of.
  rewrite nth_indep with (d' := map (f (0 + s)%nat) ls) by (rewrite map_length, seq_length; exact Ht).
  rewrite (map_nth (fun t => map (f t) ls)), seq_nth by exact Ht. apply entry_map, Hl.
Qed.

Lemma table_of_nonneg ls s f : (forall t l, 0 <= f t l) -> nonneg (table_of ls s f) = true.
Proof.
  intros H. unfold nonneg, table_of. rewrite forallb_forall. intros row Hr.
  apply in_map_iff in Hr as [t [<- _]]. rewrite forallb_forall. intros z Hz.
  apply in_map_iff in Hz as [l [<- _]]. apply Z.leb_le, H.
Qed.
