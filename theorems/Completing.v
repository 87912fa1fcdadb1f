(** * Certificates by the first node with a sum

    Let v be a node that has all contributions to a chunk after t steps, and let no node have them
    before. Sends into v before step t, and into other nodes before step t - 1, bring the
    contributions to v. Each other node that needs the sum is sent the rest of it in step t - 1 or
    later. No send does both. Each send divides its price among the paths that it may be part of,
    and the rest is for one of the two. A chunk pays the least of all cases of v and t. *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool Permutation.
From Syncoll Require Import Definitions Sums Paths Prices Shares.
Import ListNotations.
Open Scope Z_scope.

(** ** Tables *)

Lemma price_in_add ls s r q t l :
  price_in ls (Some s) (add_tables r q) t l = price_in ls (Some s) r t l + price_in ls (Some s) q t l.
Proof. apply add_tables_nth. Qed.

Definition sum_of (tabs : list table) : table := fold_right add_tables [] tabs.

Lemma price_in_nil ls s t l : price_in ls (Some s) [] t l = 0.
Proof.
  unfold price_in, entry, row_of. rewrite (nth_overflow []) by (cbn; lia).
  destruct (position ls l); reflexivity.
Qed.

Lemma price_in_sum ls s tabs t l :
  price_in ls (Some s) (sum_of tabs) t l = total (fun tab => price_in ls (Some s) tab t l) tabs.
Proof.
  induction tabs as [|tab tabs IH]; cbn [sum_of fold_right total]; [apply price_in_nil|].
  rewrite price_in_add. fold (sum_of tabs). rewrite IH. reflexivity.
Qed.

Lemma total_map {A B} (f : B -> Z) (g : A -> B) l : total f (map g l) = total (fun x => f (g x)) l.
Proof. induction l as [|x l IH]; cbn [map total]; [|rewrite IH]; reflexivity. Qed.

Lemma add_rows_nonneg r q : forallb (Z.leb 0) r = true -> forallb (Z.leb 0) q = true ->
  forallb (Z.leb 0) (add_rows r q) = true.
Proof.
  revert q. induction r as [|x r IH]; intros [|y q]; cbn; auto. rewrite !andb_true_iff, !Z.leb_le.
  intros [] []. split; [lia|auto].
Qed.

Lemma add_tables_nonneg r q : nonneg r = true -> nonneg q = true -> nonneg (add_tables r q) = true.
Proof.
  revert q. induction r as [|x r IH]; intros [|y q]; cbn [nonneg forallb add_tables]; auto.
  rewrite !andb_true_iff. intros [] []. split; [apply add_rows_nonneg|apply IH]; assumption.
Qed.

Lemma add_tables_length r q : length (add_tables r q) = Nat.max (length r) (length q).
Proof. revert q. induction r as [|x r IH]; intros [|y q]; cbn; auto. Qed.

(** ** Certificates *)

(** A path of a contribution, with a part of the prices. *)
Record way := Way { source : node; destination : node; part : table }.

(** What a chunk pays in a case; [Split] are the chunks with a send over a link in a step, and those
    without one. *)
Inductive plan :=
| Direct (ways collects : list way)
| Either (p q : plan)
| Split (over_link : link) (in_step : nat) (made never : plan).

(** The first node with the sum, the number of steps after which it has it, and the plan. *)
Definition case := (node * nat * plan)%type.
Definition place := (link * nat)%type.

Inductive cost_of := Wrong | Impossible | Costs (z : Z).

Definition plus (a b : cost_of) : cost_of :=
  match a, b with
  | Wrong, _ | _, Wrong => Wrong
  | Impossible, _ | _, Impossible => Impossible
  | Costs x, Costs y => Costs (x + y)
  end.
Definition lesser (a b : cost_of) : cost_of :=
  match a, b with
  | Wrong, _ | _, Wrong => Wrong
  | Impossible, c | c, Impossible => c
  | Costs x, Costs y => Costs (Z.min x y)
  end.

Definition place_eqb (p q : place) : bool := link_eqb (fst p) (fst q) && (snd p =? snd q)%nat.
Definition among (l : link) (t : nat) (ps : list place) : bool := existsb (place_eqb (l, t)) ps.
Definition place_of (e : send) : place := ((from e, to e), step e).

Lemma place_eqb_eq p q : place_eqb p q = true <-> p = q.
Proof.
  destruct p, q. unfold place_eqb. cbn [fst snd]. rewrite andb_true_iff, link_eqb_eq, Nat.eqb_eq.
  split; [intros [-> ->]|intros [= -> ->]]; auto.
Qed.

Lemma among_in l t ps : among l t ps = true <-> In (l, t) ps.
Proof.
  unfold among. rewrite existsb_exists. split.
  - intros [p [H E]]. apply place_eqb_eq in E. subst. exact H.
  - intros H. exists (l, t). split; [exact H|]. apply place_eqb_eq. reflexivity.
Qed.

Section Completing.
  Variables (m : machine) (s nodes : nat) (prices : table). (* of links *)
  Notation ls := (links m).
  Notation price := (price_in ls (Some s)).

  Section Case.
    Variables (x : chunk) (v : node) (t : nat) (made never : list place).

    Definition barred (z : Z) : table := table_of ls s (fun u l => if among l u never then z else 0).

    Definition cheapest_path (n : nat) (w : way) (tab : table) : option Z :=
      match cheapest ls nodes (Some n) (firstn n tab) (destination w) with
      | Some c => Some (get (far_of (firstn n tab)) c (source w))
      | None => None
      end.

    (** The cheapest path in the first n steps, over sends that may be made. If it seems to cost more
        than all prices, there may be none. *)
    Definition path_cost (n : nat) (w : way) : cost_of :=
      let far := far_of (part w) in
      match cheapest_path n w (add_tables (part w) (barred far)) with
      | Some z =>
          if z <? far then Costs z
          else match cheapest_path n w (barred 1) with
          | Some y => if 0 <? y then Impossible else Costs z
          | None => Wrong
          end
      | None => Wrong
      end.

    Definition is_late (d : node) (p : place) : bool :=
      (snd (fst p) =? d)%N && (t - 1 <=? snd p)%nat.

    (** The cost of a send that completes node d; a made send may be the one. *)
    Definition late_cost (rest : nat -> link -> Z) (d : node) : cost_of :=
      if existsb (is_late d) made then Costs 0
      else fold_right lesser Impossible
        (flat_map (fun l => if (snd l =? d)%N
           then map (fun u => if among l u never then Impossible else Costs (rest u l))
             (seq (t - 1) (s - (t - 1)))
           else []) ls).

    Definition total_cost (cs : list cost_of) : cost_of := fold_right plus (Costs 0) cs.

    Definition incomplete : list node := filter (fun d => negb (d =? v)%N) (nodup N.eq_dec (post x)).

    Definition place_dec (p q : place) : {p = q} + {p <> q}.
    Proof. repeat decide equality. Defined.

    Definition pair_dec (p q : node * node) : {p = q} + {p <> q}.
    Proof. repeat decide equality. Defined.

    (** No path twice, and none from a node to itself. *)
    Definition different (ws : list way) : bool :=
      (length (nodup pair_dec (map (fun w => (source w, destination w)) ws)) =? length ws)%nat
      && forallb (fun w => negb (source w =? destination w)%N) ws.

    Definition direct_cost (ways collects : list way) : cost_of :=
      let of_ways := sum_of (map part ways) in
      let of_collects := sum_of (map part collects) in
      let rest u l := price prices u l - price of_ways u l in
      let left u l := rest u l - price of_collects u l in
      if forallb (fun w => mem (source w) (pre x) && mem (destination w) (post x)) ways
         && forallb (fun w => mem (source w) (pre x) && (destination w =? v)%N) collects
         && forallb (fun w => nonneg (part w)) (ways ++ collects)
         && different ways && different collects
         && le_tables (add_tables of_ways of_collects) prices
      then plus (total_cost (map (path_cost s) ways))
             (plus (total_cost (map (path_cost t) collects))
               (plus (total_cost (map (late_cost rest) incomplete))
                 (Costs (total (fun p => left (snd p) (fst p)) (nodup place_dec made)))))
      else Wrong.
  End Case.

  Fixpoint plan_cost (x : chunk) (v : node) (t : nat) (made never : list place) (p : plan)
    : cost_of :=
    match p with
    | Direct ways collects => direct_cost x v t made never ways collects
    | Either p1 p2 => lesser (plan_cost x v t made never p1) (plan_cost x v t made never p2)
    | Split l u p1 p2 =>
        lesser (plan_cost x v t ((l, u) :: made) never p1) (plan_cost x v t made ((l, u) :: never) p2)
    end.

  (** A case without a plan: a contribution cannot be at the node so soon. *)
  Definition is_too_far (x : chunk) (v : node) (t : nat) : bool :=
    existsb (fun u => match path_cost [] t (Way u v []) with Impossible => true | _ => false end)
      (pre x).

  Definition is_case (v : node) (t : nat) (c : case) : bool :=
    (fst (fst c) =? v)%N && (snd (fst c) =? t)%nat.

  Definition case_cost (x : chunk) (cases : list case) (v : node) (t : nat) : cost_of :=
    match find (is_case v t) cases with
    | Some (_, _, p) => plan_cost x v t [] [] p
    | None => if is_too_far x v t then Impossible else Wrong
    end.

  Definition heads : list node := nodup N.eq_dec (map snd ls).

  Definition least_cost (x : chunk) (cases : list case) : cost_of :=
    fold_right lesser Impossible
      (flat_map (fun v => map (case_cost x cases v) (seq 1 s)) heads).

  (** What a chunk pays; nothing if no algorithm is in a case. *)
  Definition pays_cases (of_class : chunk * list case) : option paid :=
    let (x, cases) := of_class in
    if (2 <=? length (nodup N.eq_dec (pre x)))%nat && negb (length (post x) =? 0)%nat
       && nonneg prices && forallb (fun c => (1 <=? snd (fst c))%nat && (snd (fst c) <=? s)%nat) cases
    then match least_cost x cases with
         | Costs z => Some (x, (prices, z))
         | Impossible => Some (x, (prices, 0))
         | Wrong => None
         end
    else None.

  (** ** Soundness *)

  Definition holds_for (z : Z) (c : cost_of) : Prop :=
    match c with Wrong => True | Impossible => False | Costs y => y <= z end.

  Lemma holds_more y z c : holds_for y c -> y <= z -> holds_for z c.
  Proof. destruct c; cbn; auto. lia. Qed.

  Lemma plus_holds y z a b : holds_for y a -> holds_for z b -> holds_for (y + z) (plus a b).
  Proof. destruct a, b; cbn; try tauto. lia. Qed.

  Lemma total_holds {A} (f : A -> cost_of) (g : A -> Z) l :
    (forall w, In w l -> holds_for (g w) (f w)) -> holds_for (total g l) (total_cost (map f l)).
  Proof.
    induction l as [|w l IH]; cbn [map total total_cost fold_right]; intros H; [cbn; lia|].
    apply plus_holds; [apply H; left; reflexivity|apply IH; intros; apply H; right; assumption].
  Qed.

  Lemma lesser_holds z a b : holds_for z a \/ holds_for z b -> holds_for z (lesser a b).
  Proof. destruct a, b; cbn; try tauto; lia. Qed.

  Lemma least_holds z cs c : In c cs -> holds_for z c -> holds_for z (fold_right lesser Impossible cs).
  Proof.
    induction cs as [|d cs IH]; cbn [fold_right]; [intros []|]. intros [->|H] Hc; apply lesser_holds; auto.
  Qed.

  Lemma nth_firstn {A} n (l : list A) i d : (i < n)%nat -> nth i (firstn n l) d = nth i l d.
  Proof.
    revert n i. induction l as [|y l IH]; intros [|n] [|i] H; cbn; try lia; auto. apply IH. lia.
  Qed.

  Section Sound.
    Variables (chunks : list chunk) (a : algorithm) (i : nat) (x : chunk).
    Hypothesis ok : valid chunks a m true.
    Hypothesis in_s : (steps a <= s)%nat.
    Hypothesis is_x : nth_error chunks i = Some x.
    Hypothesis prices_nonneg : nonneg prices = true.
    Notation moves := (own (sends a) i).
    Notation c := (N.of_nat i).
    Notation knows_of := (knows chunks a c).

    Definition full (n : nat) (w : node) : Prop := forall u, In u (pre x) -> knows_of u n w.

    Lemma own_valid e : In e moves -> In (from e, to e) ls /\ (step e < s)%nat.
    Proof.
      intros He. apply filter_In in He as [He _].
      destruct (sends_valid _ _ _ _ ok e He) as [Hl Ht]. split; [exact Hl|lia].
    Qed.

    Lemma knows_step u n w : knows_of u (S n) w -> knows_of u n w \/
      exists e, In e moves /\ step e = n /\ to e = w /\ knows_of u n (from e).
    Proof. intros H. apply (knows_S m chunks a ok) in H. rewrite Nat2N.id in H. exact H. Qed.

    Lemma post_full d : In d (post x) -> full (steps a) d.
    Proof.
      intros Hd u Hu. apply (forms_knows chunks a) with (X := pre x); [|exact Hu].
      apply (post_valid _ _ _ _ ok c x d); [|exact Hd]. unfold is_chunk. rewrite Nat2N.id. exact is_x.
    Qed.

    Lemma path_holds never n w some (reaches : nat -> node -> Prop) : (n <= s)%nat ->
      nonneg (part w) = true ->
      (forall e, In e some -> In (from e, to e) ls /\ (step e < n)%nat /\
        among (from e, to e) (step e) never = false) ->
      (forall u, reaches O u -> u = source w) ->
      (forall u y, reaches (S u) y -> reaches u y \/
        exists e, In e some /\ step e = u /\ to e = y /\ reaches u (from e)) ->
      reaches n (destination w) ->
      holds_for (total (cost (price (part w))) some) (path_cost never n w).
    Proof.
      intros Hn Hpos Hsome Hfirst Hspread Hgoal.
      assert (Hbar : forall z, 0 <= z -> nonneg (barred never z) = true).
      { intros z Hz. apply table_of_nonneg. intros u l. destruct (among _ _ _); lia. }
      assert (Hfar : 0 <= far_of (part w)).
      { unfold far_of. assert (0 <= total (total (fun y => y)) (part w)); [|lia].
        apply total_nonneg. intros row Hr. apply total_nonneg. intros y Hy.
        unfold nonneg in Hpos. rewrite forallb_forall in Hpos. specialize (Hpos row Hr).
        rewrite forallb_forall in Hpos. apply Z.leb_le, Hpos, Hy. }
      assert (Hcut : forall tab, nonneg tab = true -> nonneg (firstn n tab) = true).
      { intros tab. unfold nonneg. rewrite !forallb_forall. intros H row Hr. apply H.
        rewrite <- (firstn_skipn n tab). apply in_or_app. left. exact Hr. }
      assert (G : forall tab y, nonneg tab = true ->
        cheapest_path n w tab = Some y ->
        y <= total (cost (price tab)) some).
      { intros tab y Ht H. unfold cheapest_path in H. destruct (cheapest _ _ _ _ _) as [c|] eqn:Hc; [|discriminate].
        injection H as <-.
        transitivity (total (cost (price_in ls (Some n) (firstn n tab))) some).
        - apply path_in_all; [intros; apply price_nonneg, Hcut, Ht|].
          apply path_costs with (nodes := nodes) (goal := destination w) (c := c) (n := n)
            (reaches := reaches); auto.
          + intros u Hu. rewrite (Hfirst u Hu). lia.
          + intros e He. destruct (Hsome e He) as [H1 [H2 _]]. auto.
        - apply Z.eq_le_incl, total_ext. intros e He. destruct (Hsome e He) as [_ [H2 _]].
          unfold cost, price_in, row_of. rewrite nth_firstn by exact H2. reflexivity. }
      assert (Hzero : forall z, total (cost (price (barred never z))) some = 0).
      { intros z. rewrite (total_ext _ (fun _ => 0)); [rewrite total_const; lia|].
        intros e He. destruct (Hsome e He) as [H1 [H2 H3]]. unfold cost, barred.
        rewrite table_of_price by (exact H1 || lia). rewrite H3. reflexivity. }
      unfold path_cost. cbv zeta. destruct (cheapest_path n w _) as [z|] eqn:E; [|exact I].
      apply G in E; [|apply add_tables_nonneg; auto].
      assert (Hz : z <= total (cost (price (part w))) some).
      { etransitivity; [exact E|]. apply Z.eq_le_incl. rewrite (total_ext _ (fun e =>
          cost (price (part w)) e + cost (price (barred never (far_of (part w)))) e)).
        - rewrite total_add, Hzero. lia.
        - intros e _. apply price_in_add. }
      destruct (z <? far_of (part w)); [exact Hz|].
      destruct (cheapest_path n w _) as [y|] eqn:E'; [|exact I].
      apply G in E'; [|apply Hbar; lia]. rewrite Hzero in E'.
      destruct (Z.ltb_spec 0 y); [cbn; lia|exact Hz].
    Qed.

    Section InCase.
      Variables (v : node) (t : nat).
      Hypothesis t_pos : (1 <= t)%nat.
      Hypothesis v_full : full t v.
      Hypothesis none_before : forall w, ~ full (t - 1) w.

      Definition is_early (e : send) : bool :=
        (step e <? t)%nat && ((to e =? v)%N || (step e <? t - 1)%nat).

      (** The sends that bring a contribution to v. *)
      Lemma collect_holds never w : nonneg (part w) = true -> In (source w) (pre x) ->
        destination w = v -> (t <= s)%nat ->
        (forall e, In e moves -> among (from e, to e) (step e) never = false) ->
        holds_for (total (cost (price (part w))) (filter is_early moves)) (path_cost never t w).
      Proof.
        intros Hpos Hu Hd Hts Hnever.
        apply path_holds with (reaches := fun n y => knows_of (source w) (Nat.min n t) y /\
          ((n < t)%nat \/ y = v)); auto.
        - intros e He. apply filter_In in He as [He E]. destruct (own_valid e He) as [H1 _].
          unfold is_early in E. apply andb_true_iff in E as [E _]. apply Nat.ltb_lt in E. auto.
        - intros y [H _]. rewrite Nat.min_0_l in H. apply (knows_O chunks a) in H as [-> _]. reflexivity.
        - intros n y [H Hy]. destruct (Nat.ltb_spec n t) as [Hn|Hn].
          + rewrite Nat.min_l in H by lia. apply knows_step in H as [H|[e [He [E1 [E2 H]]]]].
            * left. rewrite Nat.min_l by lia. split; [exact H|left; exact Hn].
            * right. exists e. repeat split; auto; [|rewrite Nat.min_l by lia; exact H].
              apply filter_In. split; [exact He|]. unfold is_early. rewrite E1, E2.
              apply andb_true_iff. split; [apply Nat.ltb_lt; exact Hn|].
              apply orb_true_iff. destruct Hy as [Hy| ->].
              -- right. apply Nat.ltb_lt. lia.
              -- left. apply N.eqb_refl.
          + left. rewrite !Nat.min_r in * by lia. destruct Hy as [Hy|Hy]; [lia|]. auto.
        - rewrite Nat.min_id. split; [|right; exact Hd]. rewrite Hd. apply v_full, Hu.
      Qed.

      (** A send completes each other node that needs the sum. *)
      Lemma completed d : In d (post x) ->
        exists e, In e moves /\ to e = d /\ (t - 1 <= step e)%nat.
      Proof.
        intros Hd.
        assert (G : forall n, (t - 1 <= n)%nat -> full n d ->
          (exists e, In e moves /\ to e = d /\ (t - 1 <= step e)%nat) \/ full (t - 1) d).
        { induction n as [|n IH]; intros Hn Hf.
          - right. replace (t - 1)%nat with O by lia. exact Hf.
          - destruct (Nat.eq_dec (S n) (t - 1)) as [E|E]; [right; rewrite <- E; exact Hf|].
            assert (S : (exists e, In e moves /\ to e = d /\ (t - 1 <= step e)%nat) \/ full n d).
            { unfold full in *. clear IH v_full none_before. induction (pre x) as [|u l IHl].
              - right. intros ? [].
              - destruct (knows_step u n d) as [H|[e [He [E1 [E2 _]]]]].
                + apply Hf. left. reflexivity.
                + destruct IHl as [H'|H']; [intros; apply Hf; right; assumption|left; exact H'|].
                  right. intros y [<-|Hy]; auto.
                + left. exists e. repeat split; auto. lia. }
            destruct S as [S|S]; [left; exact S|]. apply IH; [lia|exact S]. }
        destruct (G (Nat.max (t - 1) (steps a))) as [H|H]; [lia| |exact H|destruct (none_before d H)].
        intros u Hu. pose proof (post_full d Hd u Hu) as H.
        clear -H. replace (Nat.max (t - 1) (steps a)) with (((t - 1) - steps a) + steps a)%nat by lia.
        induction (t - 1 - steps a)%nat as [|n IH]; [exact H|]. destruct IH as [X [HX Hin]].
        exists X. split; [apply has_on, HX|exact Hin].
      Qed.

      Section Made.
        Variables (made never : list place).
        Hypothesis are_made : forall p, In p made -> exists e, In e moves /\ place_of e = p.
        Hypothesis none_never : forall e, In e moves -> among (from e, to e) (step e) never = false.

        Lemma direct_holds ways collects : (t <= s)%nat ->
          holds_for (total (cost (price prices)) moves) (direct_cost x v t made never ways collects).
        Proof.
          intros Hts. unfold direct_cost. cbv zeta.
          set (of_ways := sum_of (map part ways)). set (of_collects := sum_of (map part collects)).
          set (rest := fun u l => price prices u l - price of_ways u l).
          set (left_over := fun u l => rest u l - price of_collects u l).
          destruct (_ && _) eqn:E; [|exact I]. rewrite !andb_true_iff, !forallb_forall in E.
          destruct E as [[[[[Hways Hcollects] Hpos] _] _] Hfit].
          assert (Hleft : forall u l, 0 <= left_over u l).
          { intros u l. unfold left_over, rest.
            pose proof (le_tables_nth _ _ u (position ls l) Hfit) as H.
            rewrite add_tables_nth in H. unfold price_in, entry, row_of. lia. }
          assert (Hcost : forall w e, In w (ways ++ collects) -> 0 <= cost (price (part w)) e).
          { intros w e Hw. apply price_nonneg, Hpos, Hw. }
          assert (Hcol : forall u l, 0 <= price of_collects u l).
          { intros u l. unfold of_collects. rewrite price_in_sum. apply total_nonneg. intros tab Htab.
            apply in_map_iff in Htab as [w [<- Hw]]. apply price_nonneg, Hpos, in_or_app. auto. }
          assert (Hrest : forall u l, 0 <= rest u l).
          { intros u l. specialize (Hleft u l). specialize (Hcol u l). unfold left_over in Hleft. lia. }
          set (is_open := fun e => mem (to e) (incomplete x v) && (t - 1 <=? step e)%nat
            && negb (existsb (is_late t (to e)) made)).
          (* What the sends pay for. *)
          assert (Hall : total (cost (price of_ways)) moves
            + (total (fun e => if is_early e then cost (price of_collects) e else 0) moves
              + (total (fun e => if is_open e then cost rest e else 0) moves
                + total (fun e => if among (from e, to e) (step e) made then cost left_over e else 0) moves))
            <= total (cost (price prices)) moves).
          { rewrite <- !total_add. apply total_le. intros e He.
            assert (P : cost (price prices) e = cost (price of_ways) e + cost rest e)
              by (unfold cost, rest; lia).
            assert (Q : cost rest e = cost (price of_collects) e + cost left_over e)
              by (unfold cost, left_over; lia).
            assert (L : 0 <= cost left_over e) by apply Hleft.
            assert (C : 0 <= cost (price of_collects) e) by apply Hcol.
            destruct (is_open e) eqn:Eo.
            - unfold is_open in Eo. rewrite !andb_true_iff in Eo. destruct Eo as [[Em El] En].
              apply mem_in in Em. unfold incomplete in Em. apply filter_In in Em as [_ Em].
              apply negb_true_iff in Em. apply Nat.leb_le in El. apply negb_true_iff in En.
              assert (is_early e = false) as ->.
              { unfold is_early. rewrite Em. cbn [orb].
                destruct (Nat.ltb_spec (step e) (t - 1)); [lia|apply andb_false_r]. }
              destruct (among _ _ made) eqn:Ea; [|lia]. exfalso. apply among_in in Ea.
              apply not_true_iff_false in En. apply En. apply existsb_exists.
              exists (from e, to e, step e). split; [exact Ea|]. unfold is_late. cbn [fst snd].
              rewrite N.eqb_refl. apply Nat.leb_le, El.
            - destruct (is_early e), (among _ _ made); lia. }
          assert (Hw : holds_for (total (cost (price of_ways)) moves)
            (total_cost (map (path_cost never s) ways))).
          { replace (total (cost (price of_ways)) moves)
              with (total (fun w => total (cost (price (part w))) moves) ways).
            2: { rewrite total_swap. apply total_ext. intros e _. unfold cost, of_ways.
                 rewrite price_in_sum, total_map. reflexivity. }
            apply total_holds. intros w Hin. specialize (Hways w Hin). apply andb_true_iff in Hways as [H1 H2].
            apply mem_in in H1. apply mem_in in H2.
            apply path_holds with (reaches := fun n y => knows_of (source w) n y); auto.
            - apply Hpos, in_or_app. auto.
            - intros e He. destruct (own_valid e He). auto.
            - intros u H. apply (knows_O chunks a) in H as [-> _]. reflexivity.
            - intros u y H. apply knows_step, H.
            - pose proof (post_full _ H2 _ H1) as H. clear -H in_s.
              replace s with ((s - steps a) + steps a)%nat by lia.
              induction (s - steps a)%nat as [|n IH]; [exact H|]. destruct IH as [X [HX Hin]].
              exists X. split; [apply has_on, HX|exact Hin]. }
          assert (Hc : holds_for (total (fun e => if is_early e then cost (price of_collects) e else 0) moves)
            (total_cost (map (path_cost never t) collects))).
          { rewrite <- total_filter.
            replace (total (cost (price of_collects)) (filter is_early moves))
              with (total (fun w => total (cost (price (part w))) (filter is_early moves)) collects).
            2: { rewrite total_swap. apply total_ext. intros e _. unfold cost, of_collects.
                 rewrite price_in_sum, total_map. reflexivity. }
            apply total_holds. intros w Hin. specialize (Hcollects w Hin).
            apply andb_true_iff in Hcollects as [H1 H2]. apply mem_in in H1. apply N.eqb_eq in H2.
            apply collect_holds; auto. apply Hpos, in_or_app. auto. }
          assert (Hl : holds_for (total (fun e => if is_open e then cost rest e else 0) moves)
            (total_cost (map (late_cost t made never rest) (incomplete x v)))).
          { set (into := fun d e => if (to e =? d)%N then if is_open e then cost rest e else 0 else 0).
            assert (P : forall d e, 0 <= into d e).
            { intros d e. unfold into. destruct (_ =? _)%N, (is_open e); try lia. apply Hrest. }
            assert (H : holds_for (total (fun d => total (into d) moves) (incomplete x v))
              (total_cost (map (late_cost t made never rest) (incomplete x v)))).
            { apply total_holds. intros d Hd. unfold late_cost.
              destruct (existsb (is_late t d) made) eqn:Em; [cbn; apply total_nonneg; auto|].
              assert (Hd' := Hd). unfold incomplete in Hd'. apply filter_In in Hd' as [Hd' _].
              apply nodup_In in Hd'. destruct (completed d Hd') as [e [He [Et Es]]].
              destruct (own_valid e He) as [Hlink Hstep].
              apply least_holds with (c := Costs (rest (step e) (from e, to e))).
              - apply in_flat_map. exists (from e, to e). split; [exact Hlink|]. cbn [snd].
                rewrite Et, N.eqb_refl. apply in_map_iff. exists (step e). split; [|apply in_seq; lia].
                rewrite <- Et, (none_never e He). reflexivity.
              - cbn. etransitivity; [|apply (total_in (into d) moves e); auto].
                unfold into. rewrite Et, N.eqb_refl. unfold is_open. rewrite Et, Em.
                rewrite (proj2 (mem_in d (incomplete x v)) Hd), (proj2 (Nat.leb_le _ _) Es).
                cbn. unfold cost. rewrite Et. lia. }
            apply (holds_more _ _ _ H).
            rewrite total_swap. apply total_le. intros e _. unfold into.
            set (z := if is_open e then cost rest e else 0).
            assert (0 <= z) by (unfold z; destruct (is_open e); [apply Hrest|lia]).
            etransitivity; [apply (total_one N.eqb N.eqb_eq)|]; auto.
            - apply NoDup_filter, NoDup_nodup.
            - destruct (existsb _ _); lia. }
          assert (Hm : total (fun p => left_over (snd p) (fst p)) (nodup place_dec made)
            <= total (fun e => if among (from e, to e) (step e) made then cost left_over e else 0) moves).
          { transitivity (total (fun p => total (fun e => if place_eqb (place_of e) p
              then cost left_over e else 0) moves) (nodup place_dec made)).
            - apply total_le. intros p Hp. apply nodup_In in Hp.
              destruct (are_made p Hp) as [e [He <-]].
              etransitivity; [|apply (total_in (fun e' => if place_eqb (place_of e') (place_of e)
                then cost left_over e' else 0) moves e); [|exact He]].
              + rewrite (proj2 (place_eqb_eq _ _) eq_refl). unfold cost, place_of. cbn. lia.
              + intros y _. destruct (place_eqb _ _); [apply Hleft|lia].
            - rewrite total_swap. apply total_le. intros e _.
              etransitivity; [apply (total_one place_eqb place_eqb_eq);
                [apply NoDup_nodup|apply Hleft]|].
              destruct (existsb _ (nodup place_dec made)) eqn:Ex.
              + apply existsb_exists in Ex as [p [Hp Ep]]. apply place_eqb_eq in Ep. subst p.
                apply nodup_In in Hp. rewrite (proj2 (among_in _ _ _) Hp). lia.
              + destruct (among _ _ made); [apply Hleft|lia]. }
          assert (H : holds_for (total (cost (price of_ways)) moves
            + (total (fun e => if is_early e then cost (price of_collects) e else 0) moves
              + (total (fun e => if is_open e then cost rest e else 0) moves
                + total (fun e => if among (from e, to e) (step e) made then cost left_over e else 0) moves)))
            (plus (total_cost (map (path_cost never s) ways))
               (plus (total_cost (map (path_cost never t) collects))
                 (plus (total_cost (map (late_cost t made never rest) (incomplete x v)))
                   (Costs (total (fun p => left_over (snd p) (fst p)) (nodup place_dec made))))))).
          { repeat apply plus_holds; assumption. }
          exact (holds_more _ _ _ H Hall).
        Qed.
      End Made.

      Lemma plan_holds p : (t <= s)%nat -> forall made never,
        (forall p, In p made -> exists e, In e moves /\ place_of e = p) ->
        (forall e, In e moves -> among (from e, to e) (step e) never = false) ->
        holds_for (total (cost (price prices)) moves) (plan_cost x v t made never p).
      Proof.
        intros Hts. induction p as [ways collects|p1 IH1 p2 IH2|l u p1 IH1 p2 IH2]; intros made never Hm Hn; cbn.
        - apply direct_holds; assumption.
        - apply lesser_holds. auto.
        - apply lesser_holds.
          destruct (existsb (fun e => place_eqb (place_of e) (l, u)) moves) eqn:E.
          + left. apply IH1; [|exact Hn]. intros q [<-|Hq]; [|auto].
            apply existsb_exists in E as [e [He E]]. apply place_eqb_eq in E. eauto.
          + right. apply IH2; [exact Hm|]. intros e He. unfold among. cbn [existsb].
            apply orb_false_iff. split; [|exact (Hn e He)].
            destruct (place_eqb _ (l, u)) eqn:E'; [|reflexivity].
            rewrite <- E. symmetry. apply existsb_exists. exists e. auto.
      Qed.

      Lemma case_holds cases : (t <= s)%nat ->
        holds_for (total (cost (price prices)) moves) (case_cost x cases v t).
      Proof.
        intros Hts. unfold case_cost. destruct (find (is_case v t) cases) as [[[v' t'] p]|] eqn:E.
        - apply plan_holds; [exact Hts|intros ? []|reflexivity].
        - destruct (is_too_far x v t) eqn:F; [|exact I]. cbn.
          apply existsb_exists in F as [u [Hu F]].
          pose proof (collect_holds [] (Way u v []) eq_refl Hu eq_refl Hts (fun _ _ => eq_refl)) as H.
          destruct (path_cost _ _ _); try discriminate. exact H.
      Qed.
    End InCase.

    Lemma full_is_head n w : (2 <= length (nodup N.eq_dec (pre x)))%nat -> full n w ->
      (1 <= n)%nat /\ In w heads.
    Proof.
      intros Hp Hf.
      assert (G : forall u k, knows_of u k w -> w = u \/ (1 <= k)%nat /\ In w heads).
      { intros u. induction k as [|k IH]; intros H.
        - left. apply (knows_O chunks a) in H as [H _]. exact H.
        - apply knows_step in H as [H|[e [He [E1 [E2 _]]]]].
          + destruct (IH H) as [H'|[H1 H2]]; auto.
          + right. split; [lia|]. apply nodup_In. rewrite <- E2.
            change (to e) with (snd (from e, to e)). apply in_map. apply own_valid, He. }
      destruct (in_dec N.eq_dec w heads) as [Hh|Hh].
      - destruct n as [|n]; [|split; [lia|exact Hh]]. exfalso.
        assert (incl (nodup N.eq_dec (pre x)) [w]).
        { intros u Hu. apply nodup_In in Hu. destruct (G u O (Hf u Hu)) as [->|[]]; [left; reflexivity|lia]. }
        apply NoDup_incl_length in H; [cbn in H; lia|apply NoDup_nodup].
      - exfalso. assert (incl (nodup N.eq_dec (pre x)) [w]).
        { intros u Hu. apply nodup_In in Hu. destruct (G u n (Hf u Hu)) as [->|[]]; [left; reflexivity|contradiction]. }
        apply NoDup_incl_length in H; [cbn in H; lia|apply NoDup_nodup].
    Qed.

    Lemma least_holds_for cases : (2 <= length (nodup N.eq_dec (pre x)))%nat -> post x <> [] ->
      ~ ~ holds_for (total (cost (price prices)) moves) (least_cost x cases).
    Proof.
      intros Hp Hpost Hnot.
      assert (Hnone : forall n, (n <= steps a)%nat -> forall v, ~ full n v).
      { induction n as [n IH] using lt_wf_ind. intros Hn v Hf.
        destruct (full_is_head n v Hp Hf) as [H1 H2]. apply Hnot.
        apply least_holds with (c := case_cost x cases v n).
        - apply in_flat_map. exists v. split; [exact H2|]. apply in_map, in_seq. lia.
        - apply case_holds; auto; [|lia]. intros w. apply IH; lia. }
      destruct (post x) as [|d l] eqn:E; [congruence|].
      apply (Hnone (steps a) (le_n _) d). apply post_full. rewrite E. left. reflexivity.
    Qed.
  End Sound.

  Lemma pays_cases_sound k of_class x tab z : combining k = true ->
    pays_cases of_class = Some (x, (tab, z)) -> is_paid m k (Some s) x tab z.
  Proof.
    intros Hk H chunks a Hok Hs i Hi. rewrite Hk in Hok. unfold pays_cases in H.
    destruct of_class as [y cases]. destruct (_ && _) eqn:E; [|discriminate].
    rewrite !andb_true_iff in E. destruct E as [[[E1 E2] E3] _]. apply Nat.leb_le in E1.
    apply negb_true_iff, Nat.eqb_neq in E2.
    assert (E2' : post y <> []) by (intros E; rewrite E in E2; apply E2; reflexivity).
    assert (H0 : 0 <= total (cost (price_in ls (Some s) prices)) (own (sends a) i))
      by (apply total_nonneg; intros; apply price_nonneg, E3).
    destruct (least_cost y cases) as [| |c] eqn:Ec; [discriminate| |].
    - injection H as <- <- <-. exact H0.
    - injection H as <- <- <-.
      destruct (Z_le_gt_dec c (total (cost (price_in ls (Some s) prices)) (own (sends a) i))) as [|Hgt];
        [assumption|exfalso].
      apply (least_holds_for chunks a i y Hok Hs Hi cases E1 E2'). rewrite Ec. cbn. lia.
  Qed.
End Completing.
