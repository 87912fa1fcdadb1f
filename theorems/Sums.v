(** * Sums of prices: what sends cost, and what all rounds have room for *)

From Coq Require Import List NArith ZArith QArith Lia Arith Bool.
From Syncoll Require Import Definitions.
Import ListNotations.
Open Scope Z_scope.

Section Total.
  Context {A : Type}.

  Fixpoint total (f : A -> Z) (l : list A) : Z :=
    match l with [] => 0 | x :: l' => f x + total f l' end.

  Lemma total_add f g l : total (fun x => f x + g x) l = total f l + total g l.
  Proof. induction l; cbn; lia. Qed.

  Lemma total_mul z f l : total (fun x => z * f x) l = z * total f l.
  Proof. induction l; cbn; lia. Qed.

  Lemma total_le f g l : (forall x, In x l -> f x <= g x) -> total f l <= total g l.
  Proof.
    induction l as [|x l IH]; cbn; intros H; [lia|].
    specialize (H x) as Hx. assert (total f l <= total g l) by (apply IH; auto).
    assert (f x <= g x) by auto. lia.
  Qed.

  Lemma total_ext f g l : (forall x, In x l -> f x = g x) -> total f l = total g l.
  Proof. intros H. apply Z.le_antisymm; apply total_le; intros x Hx; rewrite (H x Hx); lia. Qed.

  Lemma total_nonneg f l : (forall x, In x l -> 0 <= f x) -> 0 <= total f l.
  Proof.
    induction l as [|x l IH]; cbn; intros H; [lia|].
    assert (0 <= f x) by auto. assert (0 <= total f l) by auto. lia.
  Qed.

  Lemma total_app f l1 l2 : total f (l1 ++ l2) = total f l1 + total f l2.
  Proof. induction l1; cbn; lia. Qed.

  Lemma total_filter f p l : total f (filter p l) = total (fun x => if p x then f x else 0) l.
  Proof. induction l as [|x l IH]; cbn; [lia|]. destruct (p x); cbn; lia. Qed.

  Lemma total_filter_le f p l :
    (forall x, In x l -> 0 <= f x) -> total f (filter p l) <= total f l.
  Proof.
    intros H. rewrite total_filter. apply total_le. intros x Hx. specialize (H x Hx).
    destruct (p x); lia.
  Qed.

  Lemma total_const z l : total (fun _ => z) l = z * Z.of_nat (length l).
  Proof. induction l; cbn [total length]; lia. Qed.

  Lemma total_one (eqb : A -> A -> bool) (eqb_eq : forall x y, eqb x y = true <-> x = y) z x l :
    NoDup l -> 0 <= z ->
    total (fun y => if eqb x y then z else 0) l <= if existsb (eqb x) l then z else 0.
  Proof.
    intros Hd Hz. induction Hd as [|y l Hy Hd IH]; cbn; [lia|].
    destruct (eqb x y) eqn:E; cbn [orb]; [|exact IH]. apply eqb_eq in E. subst y.
    destruct (existsb (eqb x) l) eqn:Ex; [|lia]. exfalso. apply Hy.
    apply existsb_exists in Ex as [y [H E]]. apply eqb_eq in E. subst y. exact H.
  Qed.

  Lemma total_in f l x : (forall y, In y l -> 0 <= f y) -> In x l -> f x <= total f l.
  Proof.
    induction l as [|y l IH]; cbn; intros H Hx; [tauto|].
    assert (0 <= total f l) by (apply total_nonneg; auto).
    destruct Hx as [->|Hx]; [lia|]. assert (0 <= f y) by auto.
    assert (f x <= total f l) by auto. lia.
  Qed.
End Total.

(** Entries of a list, none twice. *)
Lemma total_incl {A} (f : A -> Z) l k : NoDup l -> incl l k -> (forall x, In x k -> 0 <= f x) ->
  total f l <= total f k.
Proof.
  intros Hd. revert k. induction Hd as [|x l Hx Hd IH]; intros k Hi Hf; [apply total_nonneg, Hf|].
  destruct (in_split x k) as [k1 [k2 ->]]; [apply Hi; left; reflexivity|].
  assert (H : total f l <= total f (k1 ++ k2)).
  { apply IH.
    - intros y Hy. specialize (Hi y (or_intror Hy)). rewrite in_app_iff in *. cbn in Hi.
      destruct Hi as [Hi|[<-|Hi]]; auto. contradiction.
    - intros y Hy. apply Hf. rewrite in_app_iff in *. cbn. tauto. }
  rewrite !total_app in *. cbn. lia.
Qed.

Lemma filter_none {A} (p : A -> bool) l : (forall x, In x l -> p x = false) -> filter p l = [].
Proof.
  induction l as [|x l IH]; cbn; intros H; [reflexivity|].
  rewrite (H x (or_introl eq_refl)). auto.
Qed.

Lemma filter_all {A} (p : A -> bool) l : (forall x, In x l -> p x = true) -> filter p l = l.
Proof.
  induction l as [|x l IH]; cbn; intros H; [reflexivity|].
  rewrite (H x (or_introl eq_refl)). f_equal. auto.
Qed.

Lemma total_swap {A B} (f : A -> B -> Z) la lb :
  total (fun x => total (f x) lb) la = total (fun y => total (fun x => f x y) la) lb.
Proof.
  induction la as [|x la IH]; cbn.
  - induction lb; cbn; lia.
  - rewrite IH, <- total_add. reflexivity.
Qed.

(** A sum by key: that of all elements whose key is below n is the sum over the keys. *)
Section Keys.
  Context {A : Type} (key : A -> nat) (f : A -> Z) (l : list A).

  Lemma below_S n :
    total f (filter (fun x => (key x <? S n)%nat) l) =
    total f (filter (fun x => (key x <? n)%nat) l) + total f (filter (fun x => (key x =? n)%nat) l).
  Proof.
    rewrite !total_filter, <- total_add. apply total_ext. intros x _.
    destruct (Nat.ltb_spec (key x) (S n)), (Nat.ltb_spec (key x) n), (Nat.eqb_spec (key x) n); lia.
  Qed.
End Keys.

(** What the rounds have room for: if the sends of a step cost at most [room] for each round of the
    step, all sends cost at most [room] for each round. *)
Section Rounds.
  Open Scope Q_scope.
  Variables (a : algorithm) (kept : list send) (price : nat -> link -> Z) (room : Q).

  Definition cost (e : send) : Z := price (step e) (from e, to e).

  Hypothesis step_cost : forall t, (t < steps a)%nat ->
    inject_Z (total cost (filter (fun e => (step e =? t)%nat) kept))
      <= room * nth t (rounds a) 0.
  Hypothesis in_steps : forall e, In e kept -> (step e < steps a)%nat.

  Fixpoint upto (f : nat -> Q) (n : nat) : Q :=
    match n with O => 0 | S n' => upto f n' + f n' end.

  Lemma upto_shift f n : upto f (S n) == f O + upto (fun i => f (S i)) n.
  Proof.
    induction n as [|n IH]; [cbn; ring|].
    change (upto f (S (S n))) with (upto f (S n) + f (S n)). rewrite IH. cbn. ring.
  Qed.

  Lemma upto_nth l : upto (fun i => nth i l 0) (length l) == fold_right Qplus 0 l.
  Proof.
    induction l as [|x l IH]; [reflexivity|]. cbn [length fold_right].
    rewrite upto_shift. cbn [nth]. rewrite <- IH. reflexivity.
  Qed.

  Lemma sends_fit : inject_Z (total cost kept) <= room * total_rounds a.
  Proof.
    assert (H : forall n, (n <= steps a)%nat ->
      inject_Z (total cost (filter (fun e => (step e <? n)%nat) kept))
        <= room * upto (fun i => nth i (rounds a) 0) n).
    { induction n as [|n IH]; intros Hn.
      - assert (E : filter (fun e => (step e <? 0)%nat) kept = []) by (apply filter_none; auto).
        rewrite E. cbn. rewrite Qmult_0_r. apply Qle_refl.
      - rewrite (below_S step cost kept n), inject_Z_plus. cbn [upto].
        rewrite Qmult_plus_distr_r.
        apply Qplus_le_compat; [apply IH; lia|apply step_cost; lia]. }
    specialize (H (steps a) (le_n _)). unfold total_rounds. rewrite <- upto_nth.
    rewrite filter_all in H; [exact H|].
    intros e He. apply Nat.ltb_lt. auto.
  Qed.
End Rounds.

(** What the chunks pay: if each chunk pays for its own sends, all pay at most for all sends; and
    the payments of the chunks of an instance are in proportion to C. *)
Section Chunks.
  Variables (sends : list send) (cost : send -> Z) (pay : chunk -> Z).
  Hypothesis cost_nonneg : forall e, In e sends -> 0 <= cost e.

  Definition number (e : send) : nat := N.to_nat (what e).
  Definition own (i : nat) : list send := filter (fun e => (number e =? i)%nat) sends.

  Lemma chunks_pay chunks :
    (forall i x, nth_error chunks i = Some x -> pay x <= total cost (own i)) ->
    total pay chunks <= total cost sends.
  Proof.
    intros H.
    assert (G : forall l n, (forall i x, nth_error l i = Some x -> pay x <= total cost (own (n + i))) ->
      total pay l + total cost (filter (fun e => (number e <? n)%nat) sends)
        <= total cost (filter (fun e => (number e <? n + length l)%nat) sends)).
    { induction l as [|x l IH]; intros n Hl; cbn [total length].
      - rewrite Nat.add_0_r. lia.
      - specialize (IH (S n)).
        assert (Hx : pay x <= total cost (own n)).
        { specialize (Hl O x eq_refl). rewrite Nat.add_0_r in Hl. exact Hl. }
        assert (forall i y, nth_error l i = Some y -> pay y <= total cost (own (S n + i))).
        { intros i y Hy. specialize (Hl (S i) y Hy). replace (S n + i)%nat with (n + S i)%nat by lia.
          exact Hl. }
        specialize (IH H0). rewrite (below_S number cost sends n) in IH. unfold own in Hx.
        replace (n + S (length l))%nat with (S n + length l)%nat by lia. lia. }
    specialize (G chunks O H). cbn [Nat.add] in G.
    assert (0 <= total cost (filter (fun e => (number e <? 0)%nat) sends)).
    { apply total_nonneg. intros e He. apply filter_In in He as [He _]. auto. }
    assert (total cost (filter (fun e => (number e <? length chunks)%nat) sends) <= total cost sends)
      by (apply total_filter_le; auto).
    lia.
  Qed.
End Chunks.

Section Instance.
  Variables (pay : chunk -> Z).

  Lemma pay_one kinds x : NoDup kinds -> In x kinds ->
    total (fun y => if chunk_eq x y then pay y else 0) kinds = pay x.
  Proof.
    induction kinds as [|y kinds IH]; cbn; intros Hd Hx; [tauto|]. inversion_clear Hd as [|? ? Hy Hd'].
    destruct (chunk_eq x y) as [->|Hne].
    - assert (total (fun z => if chunk_eq y z then pay z else 0) kinds = 0).
      { clear IH Hd' Hx. induction kinds as [|z kinds IH]; cbn; [reflexivity|].
        destruct (chunk_eq y z) as [->|_]; [exfalso; apply Hy; left; reflexivity|].
        rewrite IH; [reflexivity|]. intros Hin. apply Hy. right. exact Hin. }
      lia.
    - destruct Hx as [->|Hx]; [congruence|]. rewrite IH; auto.
  Qed.

  Lemma pay_by_kind kinds chunks : NoDup kinds -> (forall x, In x chunks -> In x kinds) ->
    total pay chunks =
    total (fun x => Z.of_nat (count_occ chunk_eq chunks x) * pay x) kinds.
  Proof.
    intros Hd. induction chunks as [|x chunks IH]; intros Hin.
    - cbn [total count_occ]. symmetry. rewrite (total_ext _ (fun _ => 0)) by (intros; cbn; lia).
      rewrite total_const. lia.
    - cbn [total]. rewrite IH by (intros; apply Hin; right; auto).
      rewrite <- (pay_one kinds x Hd) by (apply Hin; left; auto).
      rewrite <- total_add. apply total_ext. intros y _. cbn [count_occ].
      destruct (chunk_eq x y); [|lia]. rewrite Nat2Z.inj_succ. lia.
  Qed.

  Definition payment (k : collective) : Z :=
    total (fun c => Z.of_N (snd c) * pay (fst c)) (classes k).

  Lemma instance_pays k C chunks : NoDup (map fst (classes k)) -> is_instance k C chunks ->
    total pay chunks * Z.of_N (per k) = payment k * Z.of_N C.
  Proof.
    intros Hd [Hin Hcount].
    rewrite (pay_by_kind (map fst (classes k)) chunks Hd).
    2: { intros x Hx. destruct (Hin x Hx) as [n Hn]. apply in_map_iff. exists (x, n). auto. }
    unfold payment. clear Hd Hin. revert Hcount. generalize (classes k) as l.
    induction l as [|[x n] l IH]; intros H; cbn [map total fst snd]; [lia|].
    rewrite !Z.mul_add_distr_r, IH by (intros y q Hy; apply H; right; exact Hy).
    specialize (H x n (or_introl eq_refl)). apply (f_equal Z.of_N) in H.
    rewrite !N2Z.inj_mul, nat_N_Z in H. f_equal.
    transitivity (Z.of_nat (count_occ chunk_eq chunks x) * Z.of_N (per k) * pay x); [ring|].
    rewrite H. ring.
  Qed.
End Instance.
