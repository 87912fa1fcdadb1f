(** * Waves: the rounds and the loads of all members of a family *)

From Coq Require Import List NArith ZArith QArith Lia Lqa Arith Bool.
From Syncoll Require Import Definitions Sums Shares Certificates Replay Families.
Import ListNotations.
Open Scope nat_scope.

(** ** The rounds: [usual] ones again and again, others at the start and at the end *)

Section Rounds.
  Variables (up usual down : list Q).
  Notation every := (length usual).

  Definition round_at (s t : nat) : Q :=
    if t <? length up then nth t up 0%Q
    else if t <? s - length down then nth (t mod every) usual 0%Q
    else nth (t - (s - length down)) down 0%Q.

  Definition rounds_of (s : nat) : list Q := map (round_at s) (seq 0 s).

  Notation sum := (fold_right Qplus 0%Q).

  Hypothesis some : 0 < every.

  Lemma again t : (t + every) mod every = t mod every.
  Proof. replace (t + every) with (t + 1 * every) by lia. apply Nat.mod_add. lia. Qed.

  Lemma round_early s t : t < s - length down -> round_at (s + every) t = round_at s t.
  Proof.
    intros H. unfold round_at. destruct (t <? length up); [reflexivity|].
    rewrite !(proj2 (Nat.ltb_lt _ _)) by lia. reflexivity.
  Qed.

  Lemma round_late s t : length up <= t -> length down <= s ->
    round_at (s + every) (t + every) = round_at s t.
  Proof.
    intros Ht Hs. unfold round_at. rewrite !(proj2 (Nat.ltb_ge _ (length up))) by lia.
    destruct (Nat.ltb_spec t (s - length down)) as [H|H].
    - rewrite (proj2 (Nat.ltb_lt _ _)) by lia. rewrite again. reflexivity.
    - rewrite (proj2 (Nat.ltb_ge _ _)) by lia. f_equal. lia.
  Qed.

  Lemma sum_app l1 l2 : (sum (l1 ++ l2) == sum l1 + sum l2)%Q.
  Proof. induction l1 as [|x l1 IH]; cbn; [ring|]. rewrite IH. ring. Qed.

  Lemma seq_later p n : seq (p + every) n = map (fun t => t + every) (seq p n).
  Proof. revert p. induction n as [|n IH]; intros p; cbn; [reflexivity|]. f_equal. apply (IH (S p)). Qed.

  (** The steps of an interval, wherever it starts. *)
  Lemma interval a : (sum (map (fun t => nth (t mod every) usual 0%Q) (seq a every)) == sum usual)%Q.
  Proof.
    set (g := fun t => nth (t mod every) usual 0%Q). induction a as [|a IH].
    - rewrite (map_ext_in g (fun t => nth t usual 0%Q)).
      + assert (E : forall l : list Q, map (fun t => nth t l 0%Q) (seq 0 (length l)) = l).
        { induction l as [|x l IH]; [reflexivity|]. cbn [length seq map nth]. f_equal.
          rewrite <- seq_shift, map_map. exact IH. }
        rewrite E. reflexivity.
      + intros t Ht. apply in_seq in Ht. unfold g. rewrite Nat.mod_small by lia. reflexivity.
    - rewrite <- IH. clear IH.
      assert (E : Qeq (sum (map g (a :: seq (S a) every))) (sum (map g (seq a every ++ [a + every])))).
      { change (a :: seq (S a) every) with (seq a (S every)). rewrite seq_S. reflexivity. }
      rewrite map_app, sum_app in E. cbn [map fold_right] in E.
      assert (G : g (a + every) = g a) by (unfold g; rewrite again; reflexivity). rewrite G in E. lra.
  Qed.

  Lemma rounds_more s : length up + length down <= s ->
    (sum (rounds_of (s + every)) == sum (rounds_of s) + sum usual)%Q.
  Proof.
    intros Hs. unfold rounds_of. set (p := s - length down).
    replace (seq 0 (s + every)) with (seq 0 p ++ seq p every ++ map (fun t => t + every) (seq p (length down))).
    2: { rewrite <- seq_later, <- !seq_app. f_equal. unfold p. lia. }
    replace (seq 0 s) with (seq 0 p ++ seq p (length down)).
    2: { rewrite <- seq_app. f_equal. unfold p. lia. }
    rewrite !map_app, !sum_app, map_map.
    rewrite (map_ext_in (round_at (s + every)) (round_at s) (seq 0 p)).
    2: { intros t Ht. apply in_seq in Ht. apply round_early. unfold p in Ht. lia. }
    rewrite (map_ext_in (fun t => round_at (s + every) (t + every)) (round_at s) (seq p (length down))).
    2: { intros t Ht. apply in_seq in Ht. unfold p in Ht. apply round_late; lia. }
    rewrite (map_ext_in (round_at (s + every)) (fun t => nth (t mod every) usual 0%Q) (seq p every)).
    2: { intros t Ht. apply in_seq in Ht. unfold p in Ht. unfold round_at.
         rewrite (proj2 (Nat.ltb_ge t (length up))) by lia.
         rewrite (proj2 (Nat.ltb_lt t _)) by lia. reflexivity. }
    rewrite interval. ring.
  Qed.
End Rounds.

(** ** The loads, of one bound: [wave], [heads] and [tails] have the load of each step of a part *)

Section Loads.
  Variables (every : nat) (wave : list nat) (heads tails : list (list nat)).

  Definition steps_with (w : nat) : nat := length wave + w * every - every.

  Fixpoint of_waves (w t : nat) : nat :=
    match w with
    | O => 0
    | S w' => of_waves w' t + later (w' * every) (fun u => nth u wave 0) t
    end.
  Definition of_heads (t : nat) : nat := fold_right (fun l n => nth t l 0 + n) 0 heads.
  Definition of_tails (s t : nat) : nat :=
    fold_right (fun l n => later (s - length l) (fun u => nth u l 0) t + n) 0 tails.
  Definition load_with (w t : nat) : nat := of_waves w t + (of_heads t + of_tails (steps_with w) t).

  Definition longest (ls : list (list nat)) : nat := fold_right (fun l n => Nat.max (length l) n) 0 ls.

  Lemma longest_in ls l : In l ls -> length l <= longest ls.
  Proof.
    unfold longest. induction ls as [|x ls IH]; cbn [In fold_right]; [tauto|].
    intros [->|H]; [lia|]. apply IH in H. lia.
  Qed.

  Lemma waves_early w t : t < w * every -> of_waves (S w) t = of_waves w t.
  Proof. intros H. cbn [of_waves]. unfold later. rewrite (proj2 (Nat.ltb_lt _ _) H). lia. Qed.

  Lemma waves_late w t : length wave <= t + every -> of_waves (S w) (t + every) = of_waves w t.
  Proof.
    intros Ht. induction w as [|w IH].
    - cbn [of_waves]. unfold later. rewrite (proj2 (Nat.ltb_ge _ _)) by lia.
      rewrite nth_overflow by lia. reflexivity.
    - cbn [of_waves] in *. rewrite IH. f_equal. unfold later.
      destruct (Nat.ltb_spec t (w * every)).
      + rewrite (proj2 (Nat.ltb_lt _ _)) by lia. reflexivity.
      + rewrite (proj2 (Nat.ltb_ge _ _)) by lia. f_equal. lia.
  Qed.

  Lemma heads_late t : longest heads <= t -> of_heads t = 0.
  Proof.
    intros H. unfold of_heads. assert (G : forall l, In l heads -> length l <= t).
    { intros l Hl. apply longest_in in Hl. lia. }
    clear H. induction heads as [|l ls IH]; cbn; [reflexivity|].
    rewrite nth_overflow by (apply G; left; reflexivity). apply IH. intros; apply G; right; assumption.
  Qed.

  Lemma tails_early s t : t + longest tails < s -> of_tails s t = 0.
  Proof.
    intros H. unfold of_tails. assert (G : forall l, In l tails -> t < s - length l).
    { intros l Hl. apply longest_in in Hl. lia. }
    clear H. induction tails as [|l ls IH]; cbn; [reflexivity|]. unfold later at 1.
    rewrite (proj2 (Nat.ltb_lt _ _)) by (apply G; left; reflexivity).
    apply IH. intros; apply G; right; assumption.
  Qed.

  Lemma tails_late s t : longest tails <= s -> of_tails (s + every) (t + every) = of_tails s t.
  Proof.
    intros H. unfold of_tails. assert (G : forall l, In l tails -> length l <= s).
    { intros l Hl. apply longest_in in Hl. lia. }
    clear H. induction tails as [|l ls IH]; cbn; [reflexivity|].
    rewrite IH by (intros; apply G; right; assumption). f_equal.
    specialize (G l (or_introl eq_refl)). unfold later. destruct (Nat.ltb_spec t (s - length l)).
    - rewrite (proj2 (Nat.ltb_lt _ _)) by lia. reflexivity.
    - rewrite (proj2 (Nat.ltb_ge _ _)) by lia. f_equal. lia.
  Qed.

  Section Fits.
    Variables (up usual down : list Q) (room : Q).
    Hypothesis is_every : every = length usual.
    Hypothesis some : 0 < every.

    Definition fits (w : nat) : bool :=
      forallb (fun t => Qle_bool (inject_Z (Z.of_nat (load_with w t)))
                                 (room * round_at up usual down (steps_with w) t))
        (seq 0 (steps_with w)).

    Definition at_start : nat := Nat.max (length wave) (Nat.max (longest heads) (length up)).
    Definition at_end : nat := Nat.max (length wave) (Nat.max (longest tails) (length down)).

    (** Of a long member each step is one of the member with a wave less. *)
    Lemma fits_more w : at_start + at_end + every <= steps_with w -> fits w = true ->
      fits (S w) = true.
    Proof.
      unfold fits. rewrite !forallb_forall. intros Hs H t Ht. apply in_seq in Ht.
      unfold at_start, at_end in Hs.
      assert (E : steps_with (S w) = steps_with w + every) by (unfold steps_with in *; lia).
      assert (Hw : steps_with w = length wave + w * every - every) by reflexivity.
      set (s := steps_with w) in *. unfold load_with. rewrite E in *. fold s.
      destruct (Nat.ltb_spec (t + at_end) s) as [Hl|Hl]; unfold at_end in Hl.
      - specialize (H t ltac:(apply in_seq; lia)). unfold load_with in H. fold s in H.
        rewrite waves_early by lia. rewrite is_every, round_early by lia.
        rewrite tails_early in * by lia. exact H.
      - assert (Et : t = (t - every) + every) by lia. set (t' := t - every) in *. rewrite Et.
        specialize (H t' ltac:(apply in_seq; lia)). unfold load_with in H. fold s in H.
        rewrite waves_late by lia. rewrite tails_late by lia.
        rewrite heads_late in * by lia. rewrite is_every, round_late by lia. exact H.
    Qed.

    (** The number of further members to look at. *)
    Definition members (w : nat) : nat :=
      S ((at_start + at_end + every - steps_with w) / every).

    Definition all_fit (first : nat) : bool :=
      forallb (fun j => fits (first + j)) (seq 0 (S (members first))).

    Lemma all_fit_sound first : every <= length wave + first * every -> all_fit first = true ->
      forall j, fits (first + j) = true.
    Proof.
      intros Hf H. unfold all_fit in H. rewrite forallb_forall in H. induction j as [|j IH].
      - apply H, in_seq. lia.
      - destruct (Nat.leb_spec (S j) (members first)) as [Hj|Hj]; [apply H, in_seq; lia|].
        rewrite Nat.add_succ_r. apply fits_more; [|exact IH]. unfold members in Hj.
        set (short := at_start + at_end + every - steps_with first) in *.
        pose proof (Nat.mul_succ_div_gt short every ltac:(lia)) as D.
        generalize dependent (short / every). intros q Hj D.
        assert (Hq : every * S q <= every * j) by (apply Nat.mul_le_mono_l; lia).
        assert (steps_with (first + j) = steps_with first + every * j).
        { unfold steps_with. rewrite Nat.mul_add_distr_r. lia. }
        unfold short in D. lia.
    Qed.
  End Fits.
End Loads.

(** ** A family is checked *)

(** C, the rounds and the arrivals of each step. *)
Record part := Part {
  chunks_of_part : N; part_rounds : list Q; part_arrivals : list (list (list send)) }.

Record family := Waves {
  first_waves : nat; ramp_up : list Q; usual_rounds : list Q; ramp_down : list Q;
  wave_part : part; head_parts : list part; tail_parts : list part }.

Section Family.
  Variables (m : machine) (k : collective).

  Definition is_in_grains (r : Q) : bool :=
    (Qden (Qred (r * inject_Z (Zpos (grains m)))) =? 1)%positive.

  Lemma is_in_grains_sound r : is_in_grains r = true -> in_grains m r.
  Proof.
    unfold is_in_grains, in_grains. intros H. apply Pos.eqb_eq in H.
    set (q := (r * inject_Z (Zpos (grains m)))%Q) in *.
    exists (Qnum (Qred q)). rewrite <- (Qred_correct q) at 1.
    destruct (Qred q) as [n d]. cbn in H. subst d. reflexivity.
  Qed.

  (** The chunks of a part, and its algorithm. *)
  Definition of_part (p : part) : option (list chunk * algorithm) :=
    match chunks_for k (chunks_of_part p) with
    | Some xs =>
        if check_replay m k xs (part_rounds p) (part_arrivals p)
        then Some (xs, replayed (part_rounds p) (part_arrivals p)) else None
    | None => None
    end.

  Definition part_loads (b : bound) (p : part) : list nat :=
    map (fun g => load_of g b) (part_arrivals p).

  Definition all_chunks_of (ps : list part) : N := fold_right (fun p n => chunks_of_part p + n)%N 0%N ps.

  Definition check_family (f : family) : bool :=
    let every := length (usual_rounds f) in
    let wave := wave_part f in
    let start := length (part_arrivals wave) + first_waves f * every in
    let all := ramp_up f ++ usual_rounds f ++ ramp_down f in
    (0 <? every) && (every <=? start)
    && (length (ramp_up f) + length (ramp_down f) <=? start - every)
    && forallb (fun p => length (part_arrivals p) <=? start - every) (head_parts f ++ tail_parts f)
    && forallb (fun p => match of_part p with Some _ => true | None => false end)
         (wave :: head_parts f ++ tail_parts f)
    && forallb (fun r => Qle_bool 0 r && is_in_grains r) all
    && forallb (fun b => all_fit every (part_loads b wave) (map (part_loads b) (head_parts f))
         (map (part_loads b) (tail_parts f)) (ramp_up f) (usual_rounds f) (ramp_down f) (capacity b)
         (first_waves f)) (bounds m).

  (** C, S and R of the first member, and what each further wave adds. *)
  Definition chunks_from (f : family) : N :=
    (N.of_nat (first_waves f) * chunks_of_part (wave_part f)
     + all_chunks_of (head_parts f ++ tail_parts f))%N.
  Definition steps_from (f : family) : nat :=
    length (part_arrivals (wave_part f)) + first_waves f * length (usual_rounds f)
    - length (usual_rounds f).
  Definition rounds_from (f : family) : Q :=
    fold_right Qplus 0%Q (rounds_of (ramp_up f) (usual_rounds f) (ramp_down f) (steps_from f)).

  Definition family_claim (f : family) : claim :=
    Family (chunks_from f) (chunks_of_part (wave_part f)) (steps_from f) (length (usual_rounds f))
      (Qred (rounds_from f)) (Qred (fold_right Qplus 0%Q (usual_rounds f))).

  Hypothesis formed : well_formed k = true.

  Lemma of_part_sound p xs a : of_part p = Some (xs, a) ->
    is_instance k (chunks_of_part p) xs /\ valid xs a m (combining k) /\
    steps a = length (part_arrivals p) /\ forall b t, load a t b = nth t (part_loads b p) 0.
  Proof.
    unfold of_part. destruct (chunks_for k (chunks_of_part p)) as [ys|] eqn:E; [|discriminate].
    destruct (check_replay _ _ _ _ _) eqn:R; [|discriminate]. intros [= <- <-].
    apply check_replay_holds in R as [H1 [H2 H3]]. split; [exact (chunks_for_sound k _ _ formed E)|].
    split; [exact H1|]. split; [symmetry; exact H2|]. intros b t. rewrite H3. unfold part_loads.
    assert (H0 : load_of [] b = 0) by (unfold load_of; destruct (counts b); reflexivity).
    rewrite <- H0, (map_nth (fun g => load_of g b)). reflexivity.
  Qed.

  Lemma instance_app C1 C2 l1 l2 : is_instance k C1 l1 -> is_instance k C2 l2 ->
    is_instance k (C1 + C2) (l1 ++ l2).
  Proof.
    intros [A1 A2] [B1 B2]. split.
    - intros x Hx. apply in_app_or in Hx as [Hx|Hx]; auto.
    - intros x n Hx. rewrite count_occ_app. specialize (A2 x n Hx). specialize (B2 x n Hx). lia.
  Qed.

  Lemma instance_nil : is_instance k 0 [].
  Proof. split; [intros ? []|]. intros x n _. cbn. lia. Qed.

  Section Sound.
    Variable f : family.
    Hypothesis checked : check_family f = true.
    Notation every := (length (usual_rounds f)).
    Variables (xs : list chunk) (a : algorithm).
    Hypothesis of_wave : of_part (wave_part f) = Some (xs, a).

    (** What [of_part] has; only of parts that are checked. *)
    Definition known (p : part) : list chunk * algorithm :=
      match of_part p with Some q => q | None => (xs, a) end.

    Definition member (j : nat) : list placed :=
      map (fun i => (i * every, (xs, a))) (seq 0 (first_waves f + j))
      ++ map (fun p => (0, known p)) (head_parts f)
      ++ map (fun p => (steps_from f + j * every - length (part_arrivals p), known p)) (tail_parts f).

    Lemma checked_parts : (0 < every) /\ every <= length (part_arrivals (wave_part f)) + first_waves f * every /\
      length (ramp_up f) + length (ramp_down f) <= steps_from f /\
      (forall p, In p (head_parts f ++ tail_parts f) ->
        length (part_arrivals p) <= steps_from f /\ of_part p = Some (known p)) /\
      (forall r, In r (ramp_up f ++ usual_rounds f ++ ramp_down f) -> (0 <= r)%Q /\ in_grains m r) /\
      forall b, In b (bounds m) -> all_fit every (part_loads b (wave_part f))
        (map (part_loads b) (head_parts f)) (map (part_loads b) (tail_parts f)) (ramp_up f)
        (usual_rounds f) (ramp_down f) (capacity b) (first_waves f) = true.
    Proof.
      unfold check_family in checked. cbv zeta in checked. rewrite !andb_true_iff in checked.
      destruct checked as [[[[[[H1 H2] H3] H4] H5] H6] H7].
      apply Nat.ltb_lt in H1. apply Nat.leb_le in H2, H3. rewrite forallb_forall in H4, H5, H6, H7.
      repeat split; auto.
      - apply Nat.leb_le, H4. assumption.
      - unfold known. specialize (H5 p (or_intror H)). destruct (of_part p); congruence.
      - apply Qle_bool_iff. specialize (H6 r H). apply andb_true_iff in H6 as [H6 _]. exact H6.
      - apply is_in_grains_sound. specialize (H6 r H). apply andb_true_iff in H6 as [_ H6]. exact H6.
    Qed.

    Lemma steps_of_member b j : every <= length (part_arrivals (wave_part f)) + first_waves f * every ->
      steps_with every (part_loads b (wave_part f)) (first_waves f + j) = steps_from f + j * every.
    Proof.
      intros H. unfold steps_with, steps_from, part_loads. rewrite map_length, Nat.mul_add_distr_r. lia.
    Qed.

    Lemma loads_app ps qs b t : all_loads (ps ++ qs) b t = all_loads ps b t + all_loads qs b t.
    Proof. induction ps as [|[d [ys c]] ps IH]; cbn; [reflexivity|]. rewrite IH. lia. Qed.

    Lemma loads_of_waves b w t :
      all_loads (map (fun i => (i * every, (xs, a))) (seq 0 w)) b t
      = of_waves every (part_loads b (wave_part f)) w t.
    Proof.
      destruct (of_part_sound _ _ _ of_wave) as [_ [_ [_ HL]]].
      induction w as [|w IH]; [reflexivity|]. rewrite seq_S, map_app, loads_app, IH.
      cbn [map all_loads of_waves]. rewrite Nat.add_0_r, Nat.add_0_l. f_equal. unfold later.
      destruct (t <? w * every); [reflexivity|]. apply HL.
    Qed.

    Lemma loads_of_ends (start : part -> nat) b t ps :
      (forall p, In p ps -> of_part p = Some (known p)) ->
      all_loads (map (fun p => (start p, known p)) ps) b t
      = fold_right (fun p n => later (start p) (fun u => nth u (part_loads b p) 0) t + n) 0 ps.
    Proof.
      induction ps as [|p ps IH]; cbn [map all_loads fold_right]; intros H; [reflexivity|].
      assert (Hp := H p (or_introl eq_refl)). rewrite <- IH by (intros; apply H; right; assumption).
      destruct (known p) as [ys c] eqn:E. destruct (of_part_sound _ _ _ Hp) as [_ [_ [_ HL]]].
      cbn [map all_loads]. f_equal. unfold later. destruct (t <? start p); [reflexivity|]. apply HL.
    Qed.

    Lemma member_fits j b t : t < steps_from f + j * every -> In b (bounds m) ->
      (inject_Z (Z.of_nat (all_loads (member j) b t))
       <= capacity b * round_at (ramp_up f) (usual_rounds f) (ramp_down f) (steps_from f + j * every) t)%Q.
    Proof.
      intros Ht Hb. destruct checked_parts as [H1 [H2 [_ [Hp [_ Hfit]]]]].
      pose proof (all_fit_sound every (part_loads b (wave_part f)) (map (part_loads b) (head_parts f))
        (map (part_loads b) (tail_parts f)) (ramp_up f) (usual_rounds f) (ramp_down f) (capacity b)
        eq_refl H1 (first_waves f)) as F.
      assert (Hl : length (part_loads b (wave_part f)) = length (part_arrivals (wave_part f)))
        by apply map_length.
      rewrite Hl in F. specialize (F H2 (Hfit b Hb) j). unfold fits in F.
      rewrite forallb_forall in F. rewrite (steps_of_member b j H2) in F.
      specialize (F t ltac:(apply in_seq; lia)). apply Qle_bool_iff in F.
      replace (all_loads (member j) b t) with (load_with every (part_loads b (wave_part f))
        (map (part_loads b) (head_parts f)) (map (part_loads b) (tail_parts f)) (first_waves f + j) t);
        [exact F|].
      unfold load_with, member. rewrite (steps_of_member b j H2), !loads_app, loads_of_waves. f_equal.
      rewrite !loads_of_ends by (intros; apply Hp, in_or_app; auto).
      unfold of_heads, of_tails. f_equal.
      - clear. induction (head_parts f) as [|p ps IH]; cbn [map fold_right]; [reflexivity|].
        rewrite IH. f_equal. unfold later. cbn. rewrite Nat.sub_0_r. reflexivity.
      - clear. induction (tail_parts f) as [|p ps IH]; cbn [map fold_right]; [reflexivity|].
        rewrite IH. unfold part_loads at 1. rewrite map_length. reflexivity.
    Qed.

    Lemma member_chunks j : is_instance k (chunks_from f + N.of_nat j * chunks_of_part (wave_part f))
      (all_chunks (member j)).
    Proof.
      destruct checked_parts as [_ [_ [_ [Hp _]]]].
      assert (W : forall w, is_instance k (N.of_nat w * chunks_of_part (wave_part f))
        (all_chunks (map (fun i => (i * every, (xs, a))) (seq 0 w)))).
      { destruct (of_part_sound _ _ _ of_wave) as [HI _]. induction w as [|w IH]; [apply instance_nil|].
        rewrite seq_S, map_app, all_chunks_app.
        replace (N.of_nat (S w) * chunks_of_part (wave_part f))%N
          with (N.of_nat w * chunks_of_part (wave_part f) + chunks_of_part (wave_part f))%N by lia.
        apply instance_app; [exact IH|]. unfold all_chunks. cbn. rewrite app_nil_r. exact HI. }
      assert (E : forall (start : part -> nat) ps, (forall p, In p ps -> of_part p = Some (known p)) ->
        is_instance k (all_chunks_of ps) (all_chunks (map (fun p => (start p, known p)) ps))).
      { intros start. induction ps as [|p ps IH]; intros H; [apply instance_nil|].
        cbn [map all_chunks_of fold_right]. unfold all_chunks. cbn [map concat].
        apply instance_app; [|apply IH; intros; apply H; right; assumption].
        assert (Hq := H p (or_introl eq_refl)). destruct (known p) as [ys c].
        destruct (of_part_sound _ _ _ Hq) as [HI _]. exact HI. }
      replace (chunks_from f + N.of_nat j * chunks_of_part (wave_part f))%N
        with (N.of_nat (first_waves f + j) * chunks_of_part (wave_part f)
          + (all_chunks_of (head_parts f) + all_chunks_of (tail_parts f)))%N.
      2: { unfold chunks_from. assert (A : all_chunks_of (head_parts f ++ tail_parts f)
             = (all_chunks_of (head_parts f) + all_chunks_of (tail_parts f))%N).
           { clear. unfold all_chunks_of. induction (head_parts f) as [|p ps IH]; cbn; [reflexivity|].
             rewrite IH. lia. }
           rewrite A, Nat2N.inj_add. lia. }
      unfold member. rewrite !all_chunks_app.
      apply instance_app; [apply W|apply instance_app; apply E; intros; apply Hp, in_or_app; auto].
    Qed.

    Lemma member_round s t : (0 <= round_at (ramp_up f) (usual_rounds f) (ramp_down f) s t)%Q /\
      in_grains m (round_at (ramp_up f) (usual_rounds f) (ramp_down f) s t).
    Proof.
      destruct checked_parts as [_ [_ [_ [_ [Hr _]]]]].
      assert (G : forall i l, incl l (ramp_up f ++ usual_rounds f ++ ramp_down f) ->
        (0 <= nth i l 0)%Q /\ in_grains m (nth i l 0%Q)).
      { intros i l Hl. destruct (nth_in_or_default i l 0%Q) as [H| ->]; [apply Hr, Hl, H|].
        split; [apply Qle_refl|]. exists 0%Z. ring. }
      unfold round_at. destruct (_ <? _); [|destruct (_ <? _)]; apply G; intros r H;
        rewrite !in_app_iff; auto.
    Qed.

    Lemma member_exists j : exists_with m k
      (chunks_from f + N.of_nat j * chunks_of_part (wave_part f))
      (steps_from f + j * every)
      (rounds_from f + inject_Z (Z.of_nat j) * fold_right Qplus 0 (usual_rounds f))%Q.
    Proof.
      destruct checked_parts as [H1 [H2 [H3 [Hp [_ _]]]]].
      set (rs := rounds_of (ramp_up f) (usual_rounds f) (ramp_down f) (steps_from f + j * every)).
      assert (Hlen : length rs = steps_from f + j * every)
        by (unfold rs, rounds_of; rewrite map_length, seq_length; reflexivity).
      assert (Hin : forall r, In r rs -> (0 <= r)%Q /\ in_grains m r).
      { intros r Hr. apply in_map_iff in Hr as [t [<- _]]. apply member_round. }
      exists (Algorithm rs (all_arrivals 0 (member j))). split; [|split; [exact Hlen|split]].
      - exists (all_chunks (member j)). split; [apply member_chunks|].
        apply parts_together; [|intros r Hr; apply Hin, Hr|].
        + intros c d ys a' [ps1 [ps2 [E _]]].
          assert (Hm : In (d, (ys, a')) (member j)).
          { rewrite E. apply in_or_app. right. left. reflexivity. }
          rewrite Hlen. unfold member in Hm. apply in_app_or in Hm as [Hm|Hm].
          * apply in_map_iff in Hm as [i [[= <- <- <-] Hi]]. apply in_seq in Hi.
            destruct (of_part_sound _ _ _ of_wave) as [_ [HV [HS _]]]. split; [exact HV|].
            rewrite HS. unfold steps_from.
            assert (i * every <= (first_waves f + j) * every - every).
            { replace ((first_waves f + j) * every - every) with ((first_waves f + j - 1) * every).
              - apply Nat.mul_le_mono_r. lia.
              - rewrite Nat.mul_sub_distr_r. lia. }
            nia.
          * assert (Hq : exists p, In p (head_parts f ++ tail_parts f) /\ known p = (ys, a') /\
              d + length (part_arrivals p) <= steps_from f + j * every).
            { apply in_app_or in Hm as [Hm|Hm]; apply in_map_iff in Hm as [p [E' Hi]];
                injection E' as <- E'; exists p; (split; [apply in_or_app; auto|]);
                destruct (Hp p ltac:(apply in_or_app; auto)) as [Hs _]; split; auto; lia. }
            destruct Hq as [p [Hi [Ek Hd]]]. destruct (Hp p Hi) as [_ Hof]. rewrite Ek in Hof.
            destruct (of_part_sound _ _ _ Hof) as [_ [HV [HS _]]]. split; [exact HV|]. lia.
        + rewrite Hlen. intros t b Ht Hb. unfold rs, rounds_of.
          set (g := round_at (ramp_up f) (usual_rounds f) (ramp_down f) (steps_from f + j * every)).
          rewrite (nth_indep _ 0%Q (g 0)) by (rewrite map_length, seq_length; exact Ht).
          rewrite map_nth, seq_nth by exact Ht. apply member_fits; assumption.
      - unfold total_rounds. cbn [rounds]. unfold rs, rounds_from. clear rs Hlen Hin.
        induction j as [|j IH]; [rewrite Nat.mul_0_l, Nat.add_0_r; cbn; ring|].
        replace (steps_from f + S j * every) with ((steps_from f + j * every) + every) by lia.
        rewrite rounds_more by lia. rewrite IH, Nat2Z.inj_succ. unfold Z.succ. rewrite inject_Z_plus. ring.
      - intros r Hr. apply Hin, Hr.
    Qed.
  End Sound.

  Theorem family_sound f : check_family f = true -> holds_true m k (family_claim f).
  Proof.
    intros H. assert (W : exists q, of_part (wave_part f) = Some q).
    { unfold check_family in H. cbv zeta in H. rewrite !andb_true_iff in H.
      destruct H as [[[_ H] _] _]. cbn [forallb] in H. apply andb_true_iff in H as [H _].
      destruct (of_part (wave_part f)); [eauto|discriminate]. }
    destruct W as [[xs a] W]. cbn. intros j.
    destruct (member_exists f H xs a W j) as [c [H1 [H2 [H3 H4]]]].
    exists c. split; [exact H1|]. split; [exact H2|]. split; [|exact H4].
    rewrite H3, !Qred_correct. reflexivity.
  Qed.
End Family.
