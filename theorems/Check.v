(** * The checker: accepts only claims that hold *)

From Coq Require Import List NArith ZArith QArith Lia Lqa Arith Bool.
From Syncoll Require Import Definitions Sums Paths Prices Shares Counting Certificates Replay Waves.
Import ListNotations.

(** ** What a file has *)

(** An algorithm: C, the rounds and the arrivals of each step, R, and the position of the certificate
    that proves that it costs the least. *)
Record point := Point {
  chunks_of_node : N; point_rounds : list Q; point_sends : list (list (list send)); stated_rounds : Q;
  proved_by : option N }.

(** Data that takes [links_away] steps: a class of chunks, a node that starts with some of it, and a
    node that needs it. *)
Record distance := Distance {
  of_chunk : chunk; starts_at : node; needed_at : node; links_away : nat }.

Record frontier := Frontier {
  on_machine : machine; for_collective : collective; node_count : nat;
  far_apart : option distance;
  certificates : list (certificate * Q); (* with R for [per] chunks of a node *)
  points : list point; families : list family }.

Inductive place :=
  AtCollective | AtDistance | AtCertificate (i : nat) | AtPoint (i : nat) | AtFamily (i : nat).
Inductive verdict := Accepted (claims : list claim) | Refused (at_place : place).

Section Check.
  Variable f : frontier.
  Notation m := (on_machine f).
  Notation k := (for_collective f).

  Definition bandwidth (r : Q) : Q := Qred (r / inject_Z (Z.of_N (per k))).

  (** Whether the data can be there after that many steps: a smaller number is refused, too. *)
  Definition is_reached (d : distance) : bool :=
    let rows := repeat [] (links_away d) in
    match cheapest (links m) (node_count f) (Some (links_away d)) rows (needed_at d) with
    | Some c => (least (far_of rows) c (origins k (of_chunk d) (starts_at d)) <=? 0)%Z
    | None => false
    end.

  Definition check_distance (d : distance) : bool :=
    is_reached d && match links_away d with
    | O => true
    | S s =>
        let rows := repeat [] s in
        mem (needed_at d) (post (of_chunk d)) && mem (starts_at d) (pre (of_chunk d))
        && existsb (fun c => same_chunk (fst c) (of_chunk d) && (0 <? snd c)%N) (classes k)
        && match cheapest (links m) (node_count f) (Some s) rows (needed_at d) with
           | Some c => (1 <=? least (far_of rows) c (origins k (of_chunk d) (starts_at d)))%Z
           | None => false
           end
    end.

  Definition covers_steps (most : option nat) (s : nat) : bool :=
    match most with Some n => (s <=? n)%nat | None => true end.

  (** The claim of a point; [None] if it is wrong. *)
  Definition check_point (p : point) : option claim :=
    let C := chunks_of_node p in
    let s := length (point_rounds p) in
    let r := stated_rounds p in
    match chunks_for k C with
    | None => None
    | Some chunks =>
        if Qeq_bool (fold_right (fun x y => Qred (x + y)) 0%Q (point_rounds p)) r
           && forallb (is_in_grains m) (point_rounds p)
           && check_replay m k chunks (point_rounds p) (point_sends p)
        then
          match proved_by p with
          | None => Some (Exists C s r)
          | Some i =>
              match nth_error (certificates f) (N.to_nat i) with
              | Some (c, b) =>
                  if covers_steps (steps_of c) s && (0 <? C)%N
                     && Qeq_bool (bandwidth b) (r / inject_Z (Z.of_N C))
                  then Some (Optimal C s r) else None
              | None => None
              end
          end
        else None
    end.

  Fixpoint check_certificates (cs : list (certificate * Q)) (i : nat) : verdict :=
    match cs with
    | [] => Accepted []
    | (c, r) :: cs' =>
        if check_certificate m k (node_count f) c r then
          match check_certificates cs' (S i) with
          | Accepted claims => Accepted (AtLeast (steps_of c) (bandwidth r) :: claims)
          | refused => refused
          end
        else Refused (AtCertificate i)
    end.

  Fixpoint check_points (ps : list point) (i : nat) : verdict :=
    match ps with
    | [] => Accepted []
    | p :: ps' =>
        match check_point p with
        | Some one =>
            match check_points ps' (S i) with
            | Accepted claims => Accepted (one :: claims)
            | refused => refused
            end
        | None => Refused (AtPoint i)
        end
    end.

  Fixpoint check_families (fs : list family) (i : nat) : verdict :=
    match fs with
    | [] => Accepted []
    | one :: fs' =>
        if check_family m k one then
          match check_families fs' (S i) with
          | Accepted claims => Accepted (family_claim one :: claims)
          | refused => refused
          end
        else Refused (AtFamily i)
    end.

  Definition check_far : verdict :=
    match far_apart f with
    | Some d => if check_distance d then Accepted [Takes (links_away d)] else Refused AtDistance
    | None => Accepted []
    end.

  (** Both, or the first that is refused. *)
  Definition and_then (v w : verdict) : verdict :=
    match v, w with
    | Accepted l1, Accepted l2 => Accepted (l1 ++ l2)
    | Accepted _, refused | refused, _ => refused
    end.

  Definition check : verdict :=
    if well_formed k then
      and_then check_far (and_then (check_certificates (certificates f) 0)
        (and_then (check_points (points f) 0) (check_families (families f) 0)))
    else Refused AtCollective.

  (** ** Soundness *)

  Section Sound.
    Hypothesis formed : well_formed k = true.

    Lemma check_distance_sound d : check_distance d = true -> takes m k (links_away d).
    Proof.
      unfold check_distance, takes. intros H. apply andb_true_iff in H as [_ H]. revert H.
      destruct (links_away d) as [|s]; [intros; lia|].
      rewrite !andb_true_iff. intros [[[Hg Hs] Hc] H] C a HC [chunks [[Hin Hcount] Hok]].
      destruct (Nat.leb_spec (S s) (steps a)) as [|Hlt]; [assumption|exfalso].
      apply existsb_exists in Hc as [[x n] [Hc E]]. apply andb_true_iff in E as [E Hn].
      cbn [fst snd] in *. unfold same_chunk in E. destruct (chunk_eq x (of_chunk d)) as [->|]; [|discriminate].
      apply N.ltb_lt in Hn. specialize (Hcount _ _ Hc).
      assert (Hocc : In (of_chunk d) chunks).
      { apply (count_occ_In chunk_eq). destruct (count_occ chunk_eq chunks (of_chunk d)); [|lia].
        cbn in Hcount. nia. }
      apply In_nth_error in Hocc as [i Hi].
      destruct (cheapest _ _ _ _ _) as [c|] eqn:Ep; [|discriminate]. apply Z.leb_le in H.
      set (rows := repeat [] s) in *.
      assert (Hpath : is_path_in (own (sends a) i) (cost (price_in (links m) (Some s) rows))
        (least (far_of rows) c (origins k (of_chunk d) (starts_at d)))).
      { apply (reach_pays m k (node_count f) (Some s) rows (needed_at d) c chunks a); auto. lia. }
      destruct Hpath as [path [_ [_ Hpaid]]]. rewrite (total_ext _ (fun _ => 0%Z)) in Hpaid.
      - rewrite total_const in Hpaid. lia.
      - intros e _. unfold cost, price_in, entry, row_of, rows.
        destruct (nth_in_or_default (step e) (repeat (@nil Z) s) []) as [Hr| ->].
        + apply repeat_spec in Hr as ->. destruct (position _ _); reflexivity.
        + destruct (position _ _); reflexivity.
    Qed.

    Lemma bandwidth_eq r : (bandwidth r == r / inject_Z (Z.of_N (per k)))%Q.
    Proof. apply Qred_correct. Qed.

    Lemma costs_at_least_eq most b b' : (b == b')%Q ->
      costs_at_least m k most b -> costs_at_least m k most b'.
    Proof. intros E H C a Ha Hm. rewrite <- E. exact (H C a Ha Hm). Qed.

    Lemma check_certificates_sound cs i claims : check_certificates cs i = Accepted claims ->
      (forall c, In c claims -> holds_true m k c) /\
      (forall c r, In (c, r) cs -> costs_at_least m k (steps_of c) (bandwidth r)).
    Proof.
      revert i claims. induction cs as [|[c r] cs IH]; cbn; intros i claims H.
      - injection H as <-. split; [intros ? []|intros ? ? []].
      - destruct (check_certificate _ _ _ _ _) eqn:E; [|discriminate].
        apply check_certificate_sound in E; [|exact formed].
        assert (B : costs_at_least m k (steps_of c) (bandwidth r)).
        { eapply costs_at_least_eq; [symmetry; apply bandwidth_eq|exact E]. }
        destruct (check_certificates cs (S i)) as [l|] eqn:El; [|discriminate].
        injection H as <-. destruct (IH _ _ El) as [H1 H2]. split.
        + intros c' [<-|Hc]; [exact B|auto].
        + intros c' r' [Hc|Hc]; [injection Hc as <- <-; exact B|exact (H2 _ _ Hc)].
    Qed.

    Hypothesis proved : forall c r, In (c, r) (certificates f) ->
      costs_at_least m k (steps_of c) (bandwidth r).

    Lemma check_point_sound p c : check_point p = Some c -> holds_true m k c.
    Proof.
      unfold check_point. destruct (chunks_for k (chunks_of_node p)) as [chunks|] eqn:Ec; [|discriminate].
      destruct (_ && _) eqn:E; [|discriminate]. apply andb_true_iff in E as [Er E].
      apply andb_true_iff in Er as [Er Eg]. rewrite forallb_forall in Eg. apply Qeq_bool_iff in Er.
      assert (Hsum : (total_rounds (replayed (point_rounds p) (point_sends p)) == stated_rounds p)%Q).
      { rewrite <- Er. unfold total_rounds, replayed. cbn [rounds]. clear.
        induction (point_rounds p) as [|q l IH]; cbn [fold_right]; [reflexivity|].
        rewrite Qred_correct, IH. reflexivity. }
      assert (Hex : exists_with m k (chunks_of_node p) (length (point_rounds p)) (stated_rounds p)).
      { exists (replayed (point_rounds p) (point_sends p)). split;
          [|split; [reflexivity|split; [exact Hsum|intros q Hq; exact (is_in_grains_sound m q (Eg q Hq))]]].
        exists chunks. split; [exact (chunks_for_sound k _ _ formed Ec)|].
        apply check_replay_sound, E. }
      destruct (proved_by p) as [i|]; [|intros H; injection H as <-; exact Hex].
      destruct (nth_error _ _) as [[cert b]|] eqn:En; [|discriminate].
      destruct (_ && _ && _) eqn:Eo; [|discriminate]. intros H. injection H as <-.
      apply andb_true_iff in Eo as [Eo Eb]. apply andb_true_iff in Eo as [Es EC].
      apply Qeq_bool_iff in Eb. apply N.ltb_lt in EC. split; [exact Hex|split; [exact EC|]].
      apply nth_error_In in En. apply proved in En. intros C a Ha Hm. rewrite <- Eb.
      apply (En C a Ha). unfold covers_steps in Es. destruct (steps_of cert); [|exact I].
      apply Nat.leb_le in Es. lia.
    Qed.

    Lemma check_points_sound ps i claims : check_points ps i = Accepted claims ->
      forall c, In c claims -> holds_true m k c.
    Proof.
      revert i claims. induction ps as [|p ps IH]; cbn; intros i claims H.
      - injection H as <-. intros ? [].
      - destruct (check_point p) as [one|] eqn:E; [|discriminate].
        destruct (check_points ps (S i)) as [l|] eqn:El; [|discriminate].
        injection H as <-. intros c [<-|Hc]; [exact (check_point_sound _ _ E)|eauto].
    Qed.

    Lemma check_families_sound fs i claims : check_families fs i = Accepted claims ->
      forall c, In c claims -> holds_true m k c.
    Proof.
      revert i claims. induction fs as [|one fs IH]; cbn; intros i claims H.
      - injection H as <-. intros ? [].
      - destruct (check_family m k one) eqn:E; [|discriminate].
        destruct (check_families fs (S i)) as [l|] eqn:El; [|discriminate].
        injection H as <-. intros c [<-|Hc]; [exact (family_sound m k formed one E)|eauto].
    Qed.
  End Sound.

  Lemma and_then_sound v w claims : and_then v w = Accepted claims ->
    exists l1 l2, v = Accepted l1 /\ w = Accepted l2 /\ claims = l1 ++ l2.
  Proof. destruct v, w; cbn; try discriminate. intros [= <-]. eauto. Qed.
End Check.

(** What the checker accepts holds. *)
Theorem accepted_claims_hold (f : frontier) (claims : list claim) :
  check f = Accepted claims -> forall c, In c claims -> holds_true (on_machine f) (for_collective f) c.
Proof.
  unfold check. destruct (well_formed (for_collective f)) eqn:Hf; [|discriminate]. intros H.
  apply and_then_sound in H as [l1 [w [E1 [H ->]]]]. apply and_then_sound in H as [l2 [w' [E2 [H ->]]]].
  apply and_then_sound in H as [l3 [l4 [E3 [E4 ->]]]].
  destruct (check_certificates_sound f Hf _ _ _ E2) as [C1 C2].
  intros c Hc. rewrite !in_app_iff in Hc. destruct Hc as [Hc|[Hc|[Hc|Hc]]].
  - unfold check_far in E1. destruct (far_apart f) as [d|]; [|injection E1 as <-; destruct Hc].
    destruct (check_distance f d) eqn:Ed; [|discriminate]. injection E1 as <-.
    destruct Hc as [<-|[]]. apply (check_distance_sound f), Ed.
  - exact (C1 c Hc).
  - exact (check_points_sound f Hf C2 _ _ _ E3 c Hc).
  - exact (check_families_sound f Hf _ _ _ E4 c Hc).
Qed.
