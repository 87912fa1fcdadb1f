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

  Section OneAlgorithm.
    Variables (chunks : list chunk) (a : algorithm).
    Hypothesis ok : valid chunks a m (combining k).

    Lemma load_costs bzs t : (t < steps a)%nat ->
      (forall b z, In (b, z) bzs -> In b (bounds m) /\ 0 <= z) ->
      (inject_Z (total (fun bz => snd bz * Z.of_nat (load a t (fst bz)))%Z bzs)
        <= room bzs * nth t (rounds a) 0)%Q.
    Proof.
      intros Ht. induction bzs as [|[b z] bzs IH]; intros H; cbn [total room fst snd].
      - cbn. rewrite Qmult_0_l. apply Qle_refl.
      - rewrite Qred_correct, inject_Z_plus, inject_Z_mult.
        rewrite Qmult_plus_distr_l. apply Qplus_le_compat; [|apply IH; intros; apply H; right; auto].
        destruct (H b z (or_introl eq_refl)) as [Hb Hz].
        rewrite <- Qmult_assoc, (Qmult_comm (inject_Z z)), (Qmult_comm (inject_Z z)).
        apply Qmult_le_compat_r; [|rewrite Zle_Qle in Hz; exact Hz].
        exact (bandwidth_valid _ _ _ _ ok t b Ht Hb).
    Qed.

    Lemma step_fits t : (t < steps a)%nat ->
      (inject_Z (total (cost price) (filter (fun e => (step e =? t)%nat) (sends a)))
        <= unit * nth t (rounds a) 0)%Q.
    Proof.
      intros Ht. set (row := row_of most prices t).
      assert (E : total (cost price) (filter (fun e => (step e =? t)%nat) (sends a)) =
        total (fun bz => snd bz * Z.of_nat (load a t (fst bz))) (of_bounds row)).
      { rewrite (total_ext _ (fun e => total (fun bz => if is_over (fst bz) e then snd bz else 0)
          (of_bounds row))).
        - rewrite total_swap. apply total_ext. intros [b z] _. cbn [fst snd]. unfold load.
          rewrite <- (total_filter (fun _ => z) (is_over b)), total_const. f_equal. f_equal. f_equal.
          clear. induction (sends a) as [|e l IH]; cbn; [reflexivity|].
          destruct (step e =? t)%nat; cbn; [destruct (is_over b e); cbn; congruence|exact IH].
        - intros e He. apply filter_In in He as [He Hs]. apply Nat.eqb_eq in Hs.
          unfold cost. rewrite Hs. rewrite price_of_bounds; [reflexivity|].
          apply (sends_valid _ _ _ _ ok e He). }
      rewrite E. eapply Qle_trans; [apply load_costs; [exact Ht|]|].
      - intros b z H. split; [eapply in_combine_l, H|]. apply in_combine_r in H.
        unfold row, row_of in H.
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
       forall i x, nth_error chunks i = Some x -> In x (map fst (classes k)) ->
       pay x <= total (cost price) (own (sends a) i)) ->
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
    assert (Hfit : (inject_Z (total (cost price) (sends a)) <= unit * total_rounds a)%Q).
    { apply sends_fit; [intros t Ht; eapply step_fits; eauto|].
      intros e He. apply (sends_valid _ _ _ _ Hok e He). }
    assert (Hall : total pay chunks <= total (cost price) (sends a)).
    { apply chunks_pay; [intros; apply price_nonneg, link_prices_nonneg|].
      intros i x Hx. apply (Hpay chunks a Hok Hmost i x Hx).
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
