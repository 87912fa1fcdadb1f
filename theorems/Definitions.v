(** * Definitions: all that a reader has to believe

    The proofs are in the other files. They need no belief: Coq checks them. This page says what is
    proved. It uses the words of the SCCL paper (Cai et al., PPoPP 2021): a collective is a pre- and
    a postcondition for chunks, an algorithm is a pair (Q, T) of rounds and sends, and C, S and R
    count chunks of a node, steps and rounds.

    The terms of the paper, and where they are here:
    - the topology (P, B): [machine], with its [links] and [bounds]
    - G chunks with the relations pre and post: a list of [chunk], and its length is G
    - Q = r_0, ..., r_(S-1) and T: [rounds] and [sends] of an [algorithm]
    - the relation V_s, which node has which chunk after s steps: [holds]
    - S and R: [steps] and [total_rounds]; C is the argument of [is_algorithm]
    - a valid algorithm: [valid]; bandwidth optimal: [costs_at_least] and [is_optimal]

    Differences from the paper: collectives that combine are defined directly, and not by running an
    algorithm backwards; bounds are about rational rounds, too, also 0 in a step; R is not limited to
    S + k; and T is a list, in which a send may occur twice.

    How to read Coq: [N] are natural numbers in binary, [nat] natural numbers (for steps), [Q]
    rational numbers. [inject_Z] and [Z.of_N] only make whole numbers rational, and [==] is equality
    of rational numbers. A [Record] is a tuple with named parts: [Bound l b] makes one, and
    [capacity x] is a part of it. An [Inductive] relation holds if its rules derive it, and not
    otherwise. [In x l] is "x is in the list l", [a <> b] "a is not b", [nth t l d] entry t of a list
    (from 0; d beyond its end), [Some x] and [None] a value that may be missing. [A -> B -> C] is
    "if A and B then C". *)

From Coq Require Import List NArith ZArith QArith Permutation.
Import ListNotations.
Open Scope Q_scope.

(** ** The machine *)

Definition node := N.
Definition link := (node * node)%type. (** from, to *)

(** The bandwidth relation: in a step of r rounds the links [over] together carry at most
    [capacity] * r chunks. SCCL writes (L, b). *)
Record bound := Bound { over : list link; capacity : Q }.

(** The nodes are the ends of the links. A link may be in several bounds, such as that of a cable
    and that of a network card; a link in no bound carries any number. Algorithms that are claimed to
    exist have whole rounds in each step as in the paper, where [grains] is 1, else multiples of
    1/[grains]. Bounds do not depend on it. *)
Record machine := Machine { links : list link; bounds : list bound; grains : positive }.

(** ** The collective *)

(** A chunk is at the nodes [pre] when the algorithm starts, and the nodes [post] need it at the
    end. If the collective combines (reduce, allreduce), each node of [pre] has a contribution of
    its own to the chunk, and the nodes of [post] need the sum of all contributions. *)
Record chunk := Chunk { pre : list node; post : list node }.

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
    chunks. ([count_occ] counts the chunks of a class.) If C is not a multiple for which these
    numbers are whole, the collective has no algorithm with C. Chunk number c is entry c of this
    list. *)
Definition is_instance (k : collective) (C : N) (chunks : list chunk) : Prop :=
  (forall x, In x chunks -> exists n, In (x, n) (classes k)) /\
  (forall x n, In (x, n) (classes k) ->
     (N.of_nat (count_occ chunk_eq chunks x) * per k = n * C)%N).

(** ** The algorithm *)

(** A send of chunk number [what] over the link ([from], [to]) in a step. Chunks and steps count
    from 0. If the collective combines, the send carries the sum of the contributions of the nodes
    [carried]; else [carried] has no meaning. *)
Record send := Send { what : N; from : node; to : node; step : nat; carried : list node }.

(** The rounds of each step, and the sends: (Q, T). Whole rounds are rational numbers, too, so a
    bound for all of these algorithms is one for the algorithms of the paper. A send that is listed
    twice takes the room of two. *)
Record algorithm := Algorithm { rounds : list Q; sends : list send }.

Definition steps (a : algorithm) : nat := length (rounds a). (** S *)
Definition total_rounds (a : algorithm) : Q := fold_right Qplus 0 (rounds a). (** R *)

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
      contribution to node 1, node 1 has [[1]] and [[0]], and it can form [[0;1]] of them. *)
  Inductive has : nat -> N -> node -> list node -> Prop :=
  | has_own c x n : is_chunk c x -> In n (pre x) -> has 0 c n [n]
  | has_on t c n X : has t c n X -> has (S t) c n X
  | has_sent e : In e (sends a) -> has (S (step e)) (what e) (to e) (carried e).

  (** It can form the sum of the contributions of X by adding up sums that it has, the [parts]. They
      have no contributor in common, and together those of X: each contribution counts once.
      ([concat] is one list of all, [Permutation] the same in another order, [NoDup] none twice.) *)
  Definition forms (t : nat) (c : N) (n : node) (X : list node) : Prop :=
    exists parts, (forall Y, In Y parts -> has t c n Y) /\ Permutation (concat parts) X /\ NoDup X.

  (** The number of sends in step t over the links of a bound. A send counts as one chunk, also if it
      carries the sum of many contributions. *)
  Definition link_eqb (x y : link) : bool := (fst x =? fst y)%N && (snd x =? snd y)%N.
  Definition is_over (b : bound) (e : send) : bool := existsb (link_eqb (from e, to e)) (over b).
  Definition load (t : nat) (b : bound) : nat :=
    length (filter (fun e => Nat.eqb (step e) t && is_over b e) (sends a)).

  (** An algorithm for these chunks on a machine: sends are over links and in the S steps; each step
      has room for its sends; a node sends only data that it has; in the end each node of a
      postcondition has its chunk, or the sum of all contributions to it. *)
  Record valid (m : machine) (combines : bool) : Prop := Valid {
    rounds_valid : forall r, In r (rounds a) -> 0 <= r;
    sends_valid : forall e, In e (sends a) -> In (from e, to e) (links m) /\ (step e < steps a)%nat;
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

  (** For all C, R and Q, and all algorithms of at most [most] steps (of any number with [None]):
      R >= b * C, so the bandwidth cost R/C is at least b. In the paper's cost of an algorithm it is
      the factor of the time that all data takes over a link, and S that of the latency. *)
  Definition costs_at_least (most : option nat) (b : Q) : Prop :=
    forall C a, is_algorithm C a ->
      match most with Some s => (steps a <= s)%nat | None => True end ->
      b * inject_Z (Z.of_N C) <= total_rounds a.

  (** No algorithm has fewer steps. *)
  Definition takes (s : nat) : Prop :=
    forall C a, (0 < C)%N -> is_algorithm C a -> (s <= steps a)%nat.

  (** There is an algorithm with these C, S and R. *)
  Definition in_grains (r : Q) : Prop :=
    exists n : Z, r * inject_Z (Zpos (grains m)) == inject_Z n.
  Definition exists_with (C : N) (s : nat) (R : Q) : Prop :=
    exists a, is_algorithm C a /\ steps a = s /\ total_rounds a == R /\
      forall r, In r (rounds a) -> in_grains r.

  (** There is one with these C, S and R, and none of at most S steps has a lower R/C, for any C, R
      and Q. *)
  Definition is_optimal (C : N) (s : nat) (R : Q) : Prop :=
    exists_with C s R /\ (0 < C)%N /\ costs_at_least (Some s) (R / inject_Z (Z.of_N C)).

  (** The claims that the checker accepts, and what each of them means. *)
  Inductive claim :=
  | Takes (s : nat)
  | AtLeast (most : option nat) (b : Q)
  | Exists (C : N) (s : nat) (R : Q)
  | Optimal (C : N) (s : nat) (R : Q).

  Definition holds_true (c : claim) : Prop :=
    match c with
    | Takes s => takes s
    | AtLeast s b => costs_at_least s b
    | Exists C s R => exists_with C s R
    | Optimal C s R => is_optimal C s R
    end.
End Claims.
