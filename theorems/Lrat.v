(** * Refutations: clauses without a model, by unit propagation along hints

    A proof in the format LRAT lists clauses. Each one follows from earlier ones: if it were false,
    the clauses that its hints name would force one literal after the other, up to a contradiction.
    The last one is empty. *)

From Coq Require Import List ZArith Bool FMapPositive.
Import ListNotations.
Open Scope Z_scope.

(** ** The statement *)

(** Literals are numbers as in DIMACS: n is variable n, -n its negation. *)
Definition clause := list Z.
Definition assignment := positive -> bool.

Definition is_true (v : assignment) (l : Z) : bool :=
  match l with Zpos p => v p | Zneg p => negb (v p) | Z0 => false end.

Definition satisfies (v : assignment) (c : clause) : Prop := exists l, In l c /\ is_true v l = true.

Definition has_no_model (cs : list clause) : Prop :=
  forall v, ~ (forall c, In c cs -> satisfies v c).

(** ** The checker *)

(** Values that are forced so far. *)
Definition forced := PositiveMap.t bool.

Definition value (f : forced) (l : Z) : option bool :=
  match l with
  | Zpos p => PositiveMap.find p f
  | Zneg p => option_map negb (PositiveMap.find p f)
  | Z0 => Some false
  end.

Definition make_true (l : Z) (f : forced) : forced :=
  match l with Zpos p => PositiveMap.add p true f | Zneg p => PositiveMap.add p false f | Z0 => f end.

(** What a clause forces: a contradiction, a literal, or nothing. *)
Inductive outcome := Contradiction | Forces (l : Z) | Nothing.

Fixpoint look (f : forced) (c : clause) (free : option Z) : outcome :=
  match c with
  | [] => match free with None => Contradiction | Some l => Forces l end
  | l :: c' =>
      match value f l with
      | Some true => Nothing
      | Some false => look f c' free
      | None => match free with None => look f c' (Some l) | Some _ => Nothing end
      end
  end.

Fixpoint follows (known : PositiveMap.t clause) (f : forced) (hints : list positive) : bool :=
  match hints with
  | [] => false
  | h :: hints' =>
      match PositiveMap.find h known with
      | None => false
      | Some c =>
          match look f c None with
          | Contradiction => true
          | Forces l => follows known (make_true l f) hints'
          | Nothing => false
          end
      end
  end.

(** All literals false; [None] if two of them contradict, so that the clause is always true. *)
Fixpoint assume_false (c : clause) (f : forced) : option forced :=
  match c with
  | [] => Some f
  | l :: c' =>
      match value f l with
      | Some true => None
      | _ => assume_false c' (make_true (- l) f)
      end
  end.

Inductive line := Lemma_line (number : positive) (c : clause) (hints : list positive)
                | Delete_line (numbers : list positive).

Fixpoint refutes (known : PositiveMap.t clause) (proof : list line) : bool :=
  match proof with
  | [] => false
  | Delete_line numbers :: proof' =>
      refutes (fold_right (@PositiveMap.remove clause) known numbers) proof'
  | Lemma_line number c hints :: proof' =>
      match assume_false c (PositiveMap.empty bool) with
      | None => refutes known proof'
      | Some f =>
          if follows known f hints then
            match c with [] => true | _ => refutes (PositiveMap.add number c known) proof' end
          else false
      end
  end.

Fixpoint numbered (cs : list clause) (n : positive) : PositiveMap.t clause :=
  match cs with
  | [] => PositiveMap.empty clause
  | c :: cs' => PositiveMap.add n c (numbered cs' (Pos.succ n))
  end.

Definition check_lrat (cs : list clause) (proof : list line) : bool := refutes (numbered cs 1) proof.

(** ** Soundness *)

Section Sound.
  Variable v : assignment.

  Definition agrees (f : forced) : Prop := forall p b, PositiveMap.find p f = Some b -> v p = b.

  Lemma agrees_value f l b : agrees f -> value f l = Some b -> is_true v l = b.
  Proof.
    intros H. destruct l as [|p|p]; cbn.
    - intros E. injection E as <-. reflexivity.
    - apply H.
    - destruct (PositiveMap.find p f) as [x|] eqn:E; cbn; [|discriminate].
      intros E'. injection E' as <-. rewrite (H p x E). reflexivity.
  Qed.

  Lemma agrees_make_true f l : agrees f -> is_true v l = true -> agrees (make_true l f).
  Proof.
    intros H Hl. destruct l as [|p|p]; cbn in *; [discriminate| |]; intros q b Hq;
      (destruct (Pos.eq_dec q p) as [->|Hne];
       [rewrite PositiveMap.gss in Hq; injection Hq as <-
       |rewrite PositiveMap.gso in Hq by exact Hne; exact (H q b Hq)]).
    - exact Hl.
    - apply negb_true_iff. exact Hl.
  Qed.

  Lemma look_sound f c free : agrees f -> satisfies v (match free with Some l => l :: c | None => c end) ->
    match look f c free with
    | Contradiction => False
    | Forces l => is_true v l = true
    | Nothing => True
    end.
  Proof.
    intros Hf. revert free. induction c as [|l c IH]; cbn; intros free Hs.
    - destruct free as [x|]; destruct Hs as [y [Hy Ht]]; [|destruct Hy].
      destruct Hy as [->|[]]. exact Ht.
    - destruct (value f l) as [[|]|] eqn:E; [exact I| |].
      + apply IH. apply agrees_value in E; [|exact Hf].
        destruct Hs as [y [Hy Ht]]. exists y. split; [|exact Ht].
        destruct free as [x|]; cbn in *.
        * destruct Hy as [Hy|[Hy|Hy]]; [left; exact Hy|congruence|right; exact Hy].
        * destruct Hy as [Hy|Hy]; [congruence|exact Hy].
      + destruct free as [x|]; [exact I|]. apply (IH (Some l)). exact Hs.
  Qed.

  Definition models (known : PositiveMap.t clause) : Prop :=
    forall n c, PositiveMap.find n known = Some c -> satisfies v c.

  Lemma follows_sound known hints f : models known -> agrees f -> follows known f hints = false.
  Proof.
    intros Hk. revert f. induction hints as [|h hints IH]; cbn; intros f Hf; [reflexivity|].
    destruct (PositiveMap.find h known) as [c|] eqn:E; [|reflexivity].
    pose proof (look_sound f c None Hf (Hk h c E)) as L.
    destruct (look f c None) as [|l|]; [destruct L| |reflexivity].
    apply IH, agrees_make_true; assumption.
  Qed.

  Lemma is_true_opp l : is_true v l = false -> l <> 0 -> is_true v (- l) = true.
  Proof. destruct l as [|p|p]; cbn; intros H Hl; [congruence|rewrite H; reflexivity|].
    apply negb_false_iff. exact H. Qed.

  Lemma assume_false_sound c f : agrees f -> (forall l, In l c -> is_true v l = false) ->
    exists f', assume_false c f = Some f' /\ agrees f'.
  Proof.
    revert f. induction c as [|l c IH]; cbn; intros f Hf Hc; [eauto|].
    assert (Hl : is_true v l = false) by (apply Hc; left; reflexivity).
    destruct (value f l) as [[|]|] eqn:E.
    - apply agrees_value in E; [congruence|exact Hf].
    - apply IH; [|intros; apply Hc; right; assumption].
      destruct (Z.eq_dec l 0) as [->|Hne]; [exact Hf|].
      apply agrees_make_true; [exact Hf|apply is_true_opp; assumption].
    - apply IH; [|intros; apply Hc; right; assumption].
      destruct (Z.eq_dec l 0) as [->|Hne]; [exact Hf|].
      apply agrees_make_true; [exact Hf|apply is_true_opp; assumption].
  Qed.

  Lemma satisfies_dec c : satisfies v c \/ forall l, In l c -> is_true v l = false.
  Proof.
    induction c as [|l c [[x [Hx Ht]]|IH]]; [right; intros ? []|left; exists x; cbn; auto|].
    destruct (is_true v l) eqn:E; [left; exists l; cbn; auto|].
    right. intros x [<-|Hx]; auto.
  Qed.

  Lemma remove_models known numbers : models known ->
    models (fold_right (@PositiveMap.remove clause) known numbers).
  Proof.
    intros H. induction numbers as [|n numbers IH]; cbn; [exact H|]. intros q c Hq.
    destruct (Pos.eq_dec q n) as [->|Hne].
    - rewrite PositiveMap.grs in Hq. discriminate.
    - rewrite PositiveMap.gro in Hq by exact Hne. exact (IH q c Hq).
  Qed.

  Lemma refutes_sound known proof : models known -> refutes known proof = false.
  Proof.
    revert known. induction proof as [|[n c hints|numbers] proof IH]; cbn; intros known Hk;
      [reflexivity| |apply IH, remove_models, Hk].
    destruct (assume_false c (PositiveMap.empty bool)) as [f|] eqn:E; [|apply IH, Hk].
    destruct (satisfies_dec c) as [Hc|Hc].
    - destruct (follows known f hints); [|reflexivity].
      destruct c as [|l c]; [destruct Hc as [x [[] _]]|]. apply IH. intros q d Hq.
      destruct (Pos.eq_dec q n) as [->|Hne].
      + rewrite PositiveMap.gss in Hq. injection Hq as <-. exact Hc.
      + rewrite PositiveMap.gso in Hq by exact Hne. exact (Hk q d Hq).
    - destruct (assume_false_sound c (PositiveMap.empty bool)) as [f' [E' Hf]].
      + intros p b Hp. rewrite PositiveMap.gempty in Hp. discriminate.
      + exact Hc.
      + rewrite E in E'. injection E' as <-. rewrite (follows_sound known hints f Hk Hf). reflexivity.
  Qed.

  Lemma numbered_models cs n : (forall c, In c cs -> satisfies v c) -> models (numbered cs n).
  Proof.
    revert n. induction cs as [|c cs IH]; cbn; intros n H q d Hq.
    - rewrite PositiveMap.gempty in Hq. discriminate.
    - destruct (Pos.eq_dec q n) as [->|Hne].
      + rewrite PositiveMap.gss in Hq. injection Hq as <-. apply H. left. reflexivity.
      + rewrite PositiveMap.gso in Hq by exact Hne.
        exact (IH (Pos.succ n) (fun x Hx => H x (or_intror Hx)) q d Hq).
  Qed.
End Sound.

Theorem checked_clauses_have_no_model cs proof :
  check_lrat cs proof = true -> has_no_model cs.
Proof.
  intros H v Hv. unfold check_lrat in H.
  rewrite (refutes_sound v) in H by (apply numbered_models, Hv). discriminate.
Qed.
