(** * Definitions: what the claims mean

    The proofs are in the other files. Coq checks them, so they need not be read. docs/theorems.md
    lists what else is trusted, in "The trusted parts". This page says what is proved, in the words
    of the SCCL paper (Cai et al., PPoPP 2021). The terms of the paper, and where they are here:
    - a topology (P, B): [machine], with [links] and [bounds], the bandwidth constraints (L, b) of B.
      Nodes are numbers. P is not needed: a node at no link sends and receives nothing
    - G chunks with the relations pre and post: a list of [chunk], and its length is G
    - collectives, as in Table 2 of the paper: [collective], for every C at once
    - a candidate solution (Q, T): [algorithm], with Q = r_0, ..., r_(S-1) as [rounds]
    - a send (c, n, n', s) of T: [Send c n n' s carried]
    - V_s, which node has which chunk before step s (steps count from 0): [holds s]
    - S and R: [steps] and [total_rounds]; C is the argument of [is_algorithm]
    - a valid algorithm: [valid]
    - bandwidth-optimal and latency-optimal: here only the lower bounds, [costs_at_least None] and
      [takes]; an algorithm may reach them or not
    - Pareto-optimal: [is_optimal], which is weaker: fewer steps may give the same R/C

    Differences from the paper: collectives that combine are defined directly, and not by running an
    algorithm backwards; lower bounds hold for rational rounds, too, also 0 in a step; R is not
    limited to S + k; T is a list, in which a send may occur twice; and switches may copy chunks, or
    add up.

    How to read Coq. Comments are like this one, and put code in brackets: [machine].
    - [N] and [nat] are natural numbers ([nat] for steps and lengths), [positive] those from 1 on, [Z]
      whole numbers, [Q] rational numbers. [inject_Z], [Z.of_N], [Zpos] and the like change the kind
      of a number, and not its value. Marks such as [%N] say of which kind a formula is.
    - [S t] is t + 1; in comments S is the number of steps, and Q the rounds of the paper. [==] is
      equality of rational numbers, [a <> b] "a is not b", [{x = y} + {x <> y}] a test of equality.
    - [A -> B -> C] is "if A and B then C", [/\] is "and", [\/] "or", [~] "not". In a type it is a
      function: [holds : nat -> N -> node -> Prop] is a relation of three things. [Prop] are the
      statements, [bool] the results of tests that are computed: [=?], [&&], [existsb].
    - [(a, b)] is a pair of type [A * B], with the parts [fst] and [snd]. [[a; b]] is a list.
    - Of a list l: [In x l] is "x is in l", [nth t l d] entry t, from 0 (d beyond the end),
      [nth_error l t = Some x] "entry t is x", [filter p l] the entries with p, [map f l] those of
      f(x) for each x, [existsb p l] whether p is true of one, [concat l] the lists in l as one,
      [NoDup l] "none is there twice", [nodup _ l] l with each entry once, [Permutation l k] "k is l
      in another order", [fold_right Qplus 0 l] the sum.
    - [let f e := x in] names x for the text that follows; [if b then A else B] is a statement, too.
    - [Some x] and [None] are values of type [option]: there is an x, or none. [match] has a line for
      each form of a value.
    - A [Record] is a tuple with named parts: [Bound l b w] makes one, and [capacity x] is a part of
      it. If it ends in [Prop], its parts are conditions that all have to hold.
    - An [Inductive] relation holds if its rules derive it, and not otherwise. The letters of a rule
      stand for anything. If an [Inductive] is no relation, it lists the forms of its values.
    - [Variables] of a [Section] are arguments of all that it defines, which are left out inside. So
      outside, [valid chunks a m c] has [chunks] and [a] in front.
    - Between [Proof] and [Defined] are instructions to Coq, with nothing to believe. *)

From Coq Require Import List NArith ZArith QArith Permutation.
Import ListNotations.
Open Scope Q_scope.

(** ** The machine *)

Definition node := N.
Definition link := (node * node)%type. (** from, to *)

(** What a bound counts: each send, as in the paper; at the entry of a switch that copies, the sends
    of the same data by a node to several nodes as one; at the exit of a switch that adds up, the
    sends that it adds up as one. [load] says it exactly. *)
Inductive counting := EachSend | CopiesOnce | SumsOnce.

(** The bandwidth relation: in a step of r rounds the links [over] together carry at most
    [capacity] * r chunks, counted as [counts] says. SCCL writes (L, b). *)
Record bound := Bound { over : list link; capacity : Q; counts : counting }.

(** Sends take links, and no other pairs of nodes. A link may be in several bounds, such as that of a
    cable and that of a network card; a link in no bound carries any number. If [grains] is 1, the
    algorithms that are claimed to exist have whole rounds in each step, as in the paper; else their
    rounds are multiples of 1/[grains]. Lower bounds on R/C hold for all rational rounds, and [grains]
    plays no part in them. *)
Record machine := Machine { links : list link; bounds : list bound; grains : positive }.

(** ** The collective *)

(** A chunk is at the nodes [pre] when the algorithm starts, and the nodes [post] need it at the
    end. If the collective combines (reduce, allreduce), each node of [pre] has a contribution of
    its own to the chunk, and the nodes of [post] need the sum of all contributions. *)
Record chunk := Chunk { pre : list node; post : list node }.

(** Chunks are equal or not: a fact that [count_occ] below asks for. *)
Definition chunk_eq (x y : chunk) : {x = y} + {x <> y}.
Proof. repeat decide equality. Defined.

(** A collective is a table of classes of equal chunks, with the number of chunks in each class if
    the data of a node is cut into [per] chunks, so for C = [per]. Allgather on three nodes is
    [Collective false 1 [(Chunk [0] [0;1;2], 1); (Chunk [1] [0;1;2], 1); (Chunk [2] [0;1;2], 1)]],
    and allreduce [Collective true 1 [(Chunk [0;1;2] [0;1;2], 1)]]. An alltoall on two nodes needs a
    C of 2 at least, one chunk for each node:
    [Collective false 2 [(Chunk [0] [0], 1); (Chunk [0] [1], 1); (Chunk [1] [0], 1); (Chunk [1] [1], 1)]]. *)
Record collective := Collective { combining : bool; per : N; classes : list (chunk * N) }.

(** [chunks] are the chunks of a collective if the data of a node is cut into [C] chunks: the number
    of chunks of each class is to C as its number in the table is to [per], and there are no other
    chunks. ([count_occ chunk_eq chunks x] counts the chunks x.) If C is not a multiple for which
    these numbers are whole, the collective has no algorithm with C. Chunk number c is entry c of
    this list. *)
Definition is_instance (k : collective) (C : N) (chunks : list chunk) : Prop :=
  (forall x, In x chunks -> exists n, In (x, n) (classes k)) /\
  (forall x n, In (x, n) (classes k) ->
     (N.of_nat (count_occ chunk_eq chunks x) * per k = n * C)%N).

(** ** The algorithm *)

(** A send of chunk number [what] over the link ([from], [to]) in a step. Chunks and steps count
    from 0. If the collective combines, the send carries the sum of the contributions of the nodes
    [carried]; else [carried] has no use, but sends are copies of each other only with the same. *)
Record send := Send { what : N; from : node; to : node; step : nat; carried : list node }.

(** The rounds of each step, and the sends: (Q, T). T is a list of arrivals: an arrival is a list of
    one send, or of the sends that a switch adds up. Whole rounds are rational numbers, too, so a
    bound for all of these algorithms is one for the algorithms of the paper. *)
Record algorithm := Algorithm { rounds : list Q; arrivals : list (list send) }.

Definition sends (a : algorithm) : list send := concat (arrivals a).
Definition steps (a : algorithm) : nat := length (rounds a). (** S *)
Definition total_rounds (a : algorithm) : Q := fold_right Qplus 0 (rounds a). (** R *)

(** All contributions that arrive together. *)
Definition arriving (g : list send) : list node := concat (map carried g).

Section Run.
  Variables (chunks : list chunk) (a : algorithm).

  Definition is_chunk (c : N) (x : chunk) : Prop := nth_error chunks (N.to_nat c) = Some x.

  (** Collectives that do not combine: node n holds chunk c before step t, V_t of the paper. Data
      that is sent in a step can be sent on in the next step, and not before. *)
  Inductive holds : nat -> N -> node -> Prop :=
  | holds_first c x n : is_chunk c x -> In n (pre x) -> holds 0 c n
  | holds_on t c n : holds t c n -> holds (S t) c n
  | holds_sent e : In e (sends a) -> holds (step e) (what e) (from e) ->
      holds (S (step e)) (what e) (to e).

  (** Collectives that combine: node n has, before step t, the sum of the contributions of the
      nodes X to chunk c: its own contribution, or a sum that it received. If node 0 sends its
      contribution to node 1, node 1 has the sums of [[1]] and of [[0]], and can form that of
      [[0;1]]. If a switch adds up several sends, the receiver has their sum only, and not the
      parts. Whether a sender could form what it sends is a condition of [valid]. *)
  Inductive has : nat -> N -> node -> list node -> Prop :=
  | has_own c x n : is_chunk c x -> In n (pre x) -> has 0 c n [n]
  | has_on t c n X : has t c n X -> has (S t) c n X
  | has_arrived g e : In g (arrivals a) -> In e g ->
      has (S (step e)) (what e) (to e) (arriving g).

  (** It can form the sum of the contributions of X by adding up sums that it has, the [parts]. They
      have no contributor in common, and together those of X: each contribution counts once. *)
  Definition forms (t : nat) (c : N) (n : node) (X : list node) : Prop :=
    exists parts, (forall Y, In Y parts -> has t c n Y) /\ Permutation (concat parts) X /\ NoDup X.

  (** The load of a bound in step t. [EachSend]: the sends over its links. [CopiesOnce]: the different
      [data] among them (chunk, sender, contributions). [SumsOnce]: the arrivals with a send over one
      of its links. A send counts as one chunk, also if it carries the sum of many contributions. *)
  Definition link_eqb (x y : link) : bool := (fst x =? fst y)%N && (snd x =? snd y)%N.
  Definition is_over (b : bound) (e : send) : bool := existsb (link_eqb (from e, to e)) (over b).
  Definition data (e : send) : N * node * list node := (what e, from e, carried e).
  Definition data_eq (x y : N * node * list node) : {x = y} + {x <> y}.
  Proof. repeat decide equality. Defined.

  Definition load (t : nat) (b : bound) : nat :=
    let now e := (step e =? t)%nat && is_over b e in
    match counts b with
    | EachSend => length (filter now (sends a))
    | CopiesOnce => length (nodup data_eq (map data (filter now (sends a))))
    | SumsOnce => length (filter (existsb now) (arrivals a))
    end.

  (** A copy: in the same step its sender sends the same data to another node, too, and one bound of
      the kind [CopiesOnce] has both links. *)
  Definition is_copy (m : machine) (e : send) : Prop :=
    exists b e', In b (bounds m) /\ counts b = CopiesOnce /\ is_over b e = true /\
      In e' (sends a) /\ is_over b e' = true /\
      step e' = step e /\ data e' = data e /\ to e' <> to e.

  (** Sends may arrive as their sum if they are of one chunk, to one node, in one step, have no
      contributor in common, and none of them is a copy: no switch copies and adds up the same data.
      The definition allows it on every machine, but only [SumsOnce] bounds count it once. *)
  Definition add_up (m : machine) (g : list send) : Prop :=
    (exists c n t, forall e, In e g -> what e = c /\ to e = n /\ step e = t) /\
    NoDup (arriving g) /\ forall e, In e g -> ~ is_copy m e.

  (** An algorithm for these chunks on a machine: sends are over links and in the S steps; each
      arrives alone, or added up; each step has room for its sends; a node sends only data that it
      has; in the end each node of a postcondition has its chunk, or the sum of all contributions. *)
  Record valid (m : machine) (combines : bool) : Prop := Valid {
    rounds_valid : forall r, In r (rounds a) -> 0 <= r;
    sends_valid : forall e, In e (sends a) -> In (from e, to e) (links m) /\ (step e < steps a)%nat;
    arrivals_valid : forall g, In g (arrivals a) ->
      (exists e, g = [e]) \/ (combines = true /\ add_up m g);
    bandwidth_valid : forall t b, (t < steps a)%nat -> In b (bounds m) ->
      inject_Z (Z.of_nat (load t b)) <= capacity b * nth t (rounds a) 0;
    senders_valid : forall e, In e (sends a) ->
      if combines then carried e <> [] /\ forms (step e) (what e) (from e) (carried e)
      else holds (step e) (what e) (from e);
    post_valid : forall c x n, is_chunk c x -> In n (post x) ->
      if combines then forms (steps a) c n (pre x) else holds (steps a) c n
  }.
End Run.

(** ** The claims of a frontier *)

Section Claims.
  Variables (m : machine) (k : collective).

  Definition is_algorithm (C : N) (a : algorithm) : Prop :=
    exists chunks, is_instance k C chunks /\ valid chunks a m (combining k).

  (** Each algorithm of at most [most] steps ([None]: of any number of steps), for any C and with any
      rounds, has R >= b * C: its bandwidth cost R/C is at least b. The paper's cost of an algorithm
      is S * alpha + (R/C) * L * beta. *)
  Definition costs_at_least (most : option nat) (b : Q) : Prop :=
    forall C a, is_algorithm C a ->
      match most with Some s => (steps a <= s)%nat | None => True end ->
      b * inject_Z (Z.of_N C) <= total_rounds a.

  (** No algorithm with C > 0 has fewer steps. (With C = 0 there is nothing to do.) *)
  Definition takes (s : nat) : Prop :=
    forall C a, (0 < C)%N -> is_algorithm C a -> (s <= steps a)%nat.

  (** There is an algorithm with these C, S and R, whose rounds are multiples of 1/[grains]. *)
  Definition in_grains (r : Q) : Prop :=
    exists n : Z, r * inject_Z (Zpos (grains m)) == inject_Z n.
  Definition exists_with (C : N) (s : nat) (R : Q) : Prop :=
    exists a, is_algorithm C a /\ steps a = s /\ total_rounds a == R /\
      forall r, In r (rounds a) -> in_grains r.

  (** There is one with these C, S and R; and each algorithm of at most S steps, with any number C' of
      chunks and any rounds R', has R'/C' >= R/C. (With fewer steps R'/C' may be equal.) *)
  Definition is_optimal (C : N) (s : nat) (R : Q) : Prop :=
    exists_with C s R /\ (0 < C)%N /\ costs_at_least (Some s) (R / inject_Z (Z.of_N C)).

  (** For each n = 0, 1, 2, ... there is an algorithm with C = C0 + n C1, S = s0 + n s1 and
      R = R0 + n R1. *)
  Definition exist_for_all (C0 C1 : N) (s0 s1 : nat) (R0 R1 : Q) : Prop :=
    forall n : nat, exists_with (C0 + N.of_nat n * C1) (s0 + n * s1)
      (R0 + inject_Z (Z.of_nat n) * R1).

  (** The claims that the checker accepts, and what each of them means. *)
  Inductive claim :=
  | Takes (s : nat)
  | AtLeast (most : option nat) (b : Q)
  | Exists (C : N) (s : nat) (R : Q)
  | Optimal (C : N) (s : nat) (R : Q)
  | Family (C0 C1 : N) (s0 s1 : nat) (R0 R1 : Q).

  Definition holds_true (c : claim) : Prop :=
    match c with
    | Takes s => takes s
    | AtLeast s b => costs_at_least s b
    | Exists C s R => exists_with C s R
    | Optimal C s R => is_optimal C s R
    | Family C0 C1 s0 s1 R0 R1 => exist_for_all C0 C1 s0 s1 R0 R1
    end.
End Claims.

(** The theorem, in Check.v: if the checker accepts a text with machine m and collective k, and
    reports the claim c, then [holds_true m k c]. *)
