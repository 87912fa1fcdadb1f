(* Reads a frontier as plain text, has the verified checker judge it, and prints the claims; with
   `--lrat CNF PROOF` it reads clauses and a proof that they have no model.

   A file is a sequence of words; lines have no meaning. Lists begin with their length. Numbers are
   decimal, ratios may have a denominator: 7/6. docs/theorems.md describes the words.

   This reader is not verified. `--coq` prints what it read as a theorem for Coq. *)

open Checker

exception Unreadable of string

(* Words with their lines. *)

let words = ref [||]
let next = ref 0

let fail text =
  let line = if !next = 0 then 1 else fst !words.(!next - 1) in
  raise (Unreadable (Printf.sprintf "line %d: %s" line text))

let load file =
  let channel = open_in file in
  let found = ref [] and line = ref 0 in
  (try
     while true do
       let text = input_line channel in
       incr line;
       List.iter (fun w -> if w <> "" then found := (!line, w) :: !found)
         (String.split_on_char ' ' text)
     done
   with End_of_file -> close_in channel);
  words := Array.of_list (List.rev !found)

let word () =
  if !next >= Array.length !words then fail "the file ends early";
  let w = snd !words.(!next) in
  incr next; w

let expect text =
  let w = word () in
  if w <> text then fail (Printf.sprintf "%s; expected %s" w text)

(* Numbers. *)

let rec nat_of i = if i = 0 then O else S (nat_of (i - 1))
let rec int_of_nat = function O -> 0 | S n -> 1 + int_of_nat n

let n_of i =
  let rec positive i =
    if i = 1 then XH else if i land 1 = 1 then XI (positive (i / 2)) else XO (positive (i / 2)) in
  if i = 0 then N0 else Npos (positive i)

let ten = n_of 10
let is_digits w = w <> "" && String.for_all (fun c -> '0' <= c && c <= '9') w

let n_of_digits w =
  if not (is_digits w) then fail (w ^ "; expected a number");
  if String.length w < 18 then n_of (int_of_string w)
  else
    let digit sum c = N.add (N.mul sum ten) (n_of (Char.code c - 48)) in
    Seq.fold_left digit N0 (String.to_seq w)

let rec digits_of n =
  let rest, digit = N.div_eucl n ten in
  let rec value = function XH -> 1 | XO p -> 2 * value p | XI p -> 2 * value p + 1 in
  let own = string_of_int (match digit with N0 -> 0 | Npos p -> value p) in
  if rest = N0 then own else digits_of rest ^ own

(* A count, up to a limit: the memory of a list is in proportion to its words. *)
let count most =
  let w = word () in
  if not (is_digits w) || String.length w > 9 || int_of_string w > most then
    fail (Printf.sprintf "%s; expected a number up to %d" w most);
  int_of_string w

(* A number of a literal, or of a clause. *)
let signed w =
  let negative = String.length w > 1 && w.[0] = '-' in
  let digits = if negative then String.sub w 1 (String.length w - 1) else w in
  match n_of_digits digits with
  | N0 -> Z0
  | Npos p -> if negative then Zneg p else Zpos p

let number () = n_of_digits (word ())
let whole () = Z.of_N (number ())

let ratio () =
  let w = word () in
  let top, bottom = match String.split_on_char '/' w with
    | [a] -> a, "1" | [a; b] -> a, b | _ -> fail (w ^ "; expected a ratio") in
  match n_of_digits bottom with
  | N0 -> fail (w ^ "; expected a ratio")
  | Npos p -> { qnum = Z.of_N (n_of_digits top); qden = p }

let many read =
  let n = count 999_999_999 in
  let rec go n acc = if n = 0 then List.rev acc else go (n - 1) (read () :: acc) in
  go n []

let below what most () =
  if most = 0 then fail ("no " ^ what);
  count (most - 1)

(* The file. *)

let read_frontier () =
  expect "syncoll-theorem"; expect "2";
  expect "nodes";
  let nodes = count 1_000_000 in
  let node () = n_of (below "node" nodes ()) in
  expect "grains";
  let grains = match number () with N0 -> fail "no grains" | Npos p -> p in
  expect "links";
  let links = many (fun () -> let a = node () in let b = node () in (a, b)) in
  let link_at = Array.of_list links in
  let link = below "link" (Array.length link_at) in
  expect "bounds";
  let bounds = many (fun () ->
    let counts = match word () with
      | "sends" -> EachSend | "copies" -> CopiesOnce | "sums" -> SumsOnce
      | w -> fail (w ^ "; expected sends, copies or sums") in
    let room = ratio () in
    { over = many (fun () -> link_at.(link ())); capacity = room; counts }) in
  let bound = below "bound" (List.length bounds) in
  expect "collective";
  let combines = match word () with
    | "combining" -> true | "copying" -> false | w -> fail (w ^ "; expected combining or copying") in
  expect "per";
  let per_chunks = number () in
  expect "classes";
  let kinds = many (fun () ->
    let n = number () in
    let pre = many node in
    let post = many node in
    ({ pre; post }, n)) in
  let class_at = Array.of_list kinds in
  let kind () = fst class_at.(below "class" (Array.length class_at) ()) in
  let user () = let x = kind () in let s = node () in (x, s) in
  expect "distance";
  let far = match many (fun () ->
    let of_chunk = kind () in
    let starts_at = node () in
    let needed_at = node () in
    { of_chunk; starts_at; needed_at; links_away = nat_of (count 65536) }) with
    | [] -> None | [one] -> Some one | _ -> fail "several distances" in
  (* Rows [place, step, price] as a table. *)
  let table rows width place =
    let cells = Array.make_matrix rows width Z0 in
    let _ = many (fun () ->
      let i = place () in
      let t = below "step" rows () in
      if cells.(t).(i) <> Z0 then fail "a price twice";
      cells.(t).(i) <- whole ()) in
    List.map Array.to_list (Array.to_list cells) in
  let priced () =
    expect "steps";
    let rows = count 65536 in
    expect "unit";
    let room = ratio () in
    expect "multiple";
    let multiple = whole () in
    expect "prices";
    (nat_of rows, rows, room, multiple, table rows (List.length bounds) bound) in
  let certificate () =
    expect "certificate";
    let method_ = word () in
    expect "rounds";
    let r = ratio () in
    let found = match method_ with
      | "prices" ->
        expect "steps";
        let most = match word () with
          | "any" -> None | _ -> decr next; Some (count 65536) in
        let rows = Option.value most ~default:1 in
        expect "unit";
        let room = ratio () in
        let prices = table rows (List.length bounds) bound in
        expect "shares";
        let shares = many (fun () ->
          let goal = node () in
          let users = many user in
          { goal; users; parts = table rows (Array.length link_at) link }) in
        ByPrices (Option.map nat_of most, room, prices, shares)
      | "cut" ->
        expect "inside";
        let inside = many node in
        expect "cover";
        let cover = many (fun () -> n_of (bound ())) in
        expect "leaving";
        ByCut (inside, cover, many (fun () -> let goal = node () in (goal, many user)))
      | "sends" ->
        expect "parts";
        let parts = many node in
        expect "moved";
        let moved = count 1 = 1 in
        expect "one";
        let one = whole () in
        expect "prices";
        BySends (parts, moved, one, many whole)
      | "trees" ->
        let (most, rows, room, multiple, prices) = priced () in
        expect "trees";
        let trees = many (fun () ->
          let spanning = kind () in
          let root = node () in
          let inward = count 1 = 1 in
          let portion = table rows (Array.length link_at) link in
          { spanning; root; inward; portion;
            images = many (fun () -> let own = node () in (own, many node)) }) in
        ByTrees (most, room, multiple, prices, trees)
      | "completions" ->
        let (most, rows, room, multiple, prices) = priced () in
        let way () =
          let source = node () in
          let destination = node () in
          { source; destination; part = table rows (Array.length link_at) link } in
        (* Cases that are divided by the same sends, in order, are a plan. *)
        let rec plan cases = match List.partition (fun (sends, _, _) -> sends = []) cases with
          | (_, ways, collects) :: more, [] ->
            List.fold_left (fun p (_, ways, collects) -> Either (p, Direct (ways, collects)))
              (Direct (ways, collects)) more
          | [], ((l, t, _) :: _, _, _) :: _ ->
            let side wanted = List.filter_map (function
              | ((l', t', made) :: rest, ways, collects) when l' = l && t' = t ->
                if made = wanted then Some (rest, ways, collects) else None
              | _ -> fail "cases divided by different sends") cases in
            Split (link_at.(l), nat_of t, plan (side true), plan (side false))
          | _ -> fail "a case is missing, or one too many" in
        expect "cases";
        let found = many (fun () ->
          let x = kind () in
          let v = node () in
          let t = count 65536 in
          let sends = many (fun () ->
            let l = link () in
            let t = below "step" rows () in
            (l, t, count 1 = 1)) in
          let ways = many way in
          ((x, v, t), (sends, ways, many way))) in
        let keys = List.sort_uniq compare (List.map fst found) in
        let plan_of key = plan (List.filter_map (fun (k, c) -> if k = key then Some c else None) found) in
        let kinds = List.sort_uniq compare (List.map (fun (x, _, _) -> x) keys) in
        let cases = List.map (fun x -> (x, List.filter_map (fun (y, v, t) ->
          if y = x then Some ((v, nat_of t), plan_of (y, v, t)) else None) keys)) kinds in
        ByCompletions (most, room, multiple, prices, cases)
      | w -> fail (w ^ "; expected prices, cut, sends, trees or completions") in
    (found, r) in
  expect "certificates";
  let certificates = many certificate in
  let steps () =
    let t = ref (-1) in
    many (fun () ->
      expect "step"; incr t;
      let step = nat_of !t in
      let r = ratio () in
      (r, many (fun () ->
        let what = number () in
        let to0 = node () in
        if combines then many (fun () -> let from = node () in { what; from; to0; step; carried = many node })
        else [{ what; from = node (); to0; step; carried = [] }]))) in
  let point () =
    expect "point";
    let chunks_of_node = number () in
    let stated_rounds = ratio () in
    let proof = word () in
    let proved_by = if proof = "open" then None else Some (n_of_digits proof) in
    let steps = steps () in
    { chunks_of_node; point_rounds = List.map fst steps; point_sends = List.map snd steps;
      stated_rounds; proved_by } in
  let part () =
    expect "part";
    let chunks_of_part = number () in
    let steps = steps () in
    { chunks_of_part; part_rounds = List.map fst steps; part_arrivals = List.map snd steps } in
  let family () =
    expect "family";
    let first_waves = nat_of (count 65536) in
    let ramp_up = many ratio in
    let usual_rounds = many ratio in
    let ramp_down = many ratio in
    let wave_part = part () in
    let head_parts = many part in
    { first_waves; ramp_up; usual_rounds; ramp_down; wave_part; head_parts; tail_parts = many part } in
  expect "points";
  let points = many point in
  expect "families";
  let families = many family in
  expect "end";
  if !next < Array.length !words then fail "something after the end";
  { on_machine = { links; bounds; grains }; node_count = nat_of nodes; far_apart = far;
    for_collective = { combining = combines; per = per_chunks; classes = kinds };
    certificates; points; families }

(* Clauses in DIMACS, and a proof in LRAT without RAT: each line of a proof has the number of a
   clause, its literals, 0, its hints, 0; or a number, d, numbers of clauses to delete, 0. *)

let rec up_to_zero acc = match word () with
  | "0" -> List.rev acc
  | w -> up_to_zero (w :: acc)

let read_clauses file =
  load file;
  next := 0;
  expect "p"; expect "cnf";
  let _ = number () in
  let n = count 999_999_999 in
  let rec go n acc =
    if n = 0 then List.rev acc else go (n - 1) (List.map signed (up_to_zero []) :: acc) in
  let found = go n [] in
  if !next < Array.length !words then fail "more clauses than it says";
  found

let read_proof file =
  load file;
  next := 0;
  let clause_number w = match signed w with
    | Zpos p -> p | _ -> fail (w ^ "; expected the number of a clause, and no RAT") in
  let rec go acc =
    if !next >= Array.length !words then List.rev acc
    else
      let number = clause_number (word ()) in
      match up_to_zero [] with
      | "d" :: numbers -> go (Delete_line (List.map clause_number numbers) :: acc)
      | literals ->
        let hints = List.map clause_number (up_to_zero []) in
        go (Lemma_line (number, List.map signed literals, hints) :: acc) in
  go []

(* The verdict. *)

let number_text = function Z0 -> "0" | Zpos p -> digits_of (Npos p) | Zneg p -> "-" ^ digits_of (Npos p)
let ratio_text q =
  number_text q.qnum ^ if q.qden = XH then "" else "/" ^ digits_of (Npos q.qden)

let steps_text s = match int_of_nat s with
  | 1 -> "1 step" | n -> string_of_int n ^ " steps"

let claim_text = function
  | Takes s -> "no algorithm has fewer than " ^ steps_text s
  | AtLeast (most, b) ->
    let steps = match most with
      | None -> "" | Some s -> " of at most " ^ steps_text s in
    Printf.sprintf "for all C, R and Q every algorithm%s has R >= %s C" steps (ratio_text b)
  | Exists (c, s, r) -> Printf.sprintf "an algorithm with C = %s, S = %d, R = %s exists"
    (digits_of c) (int_of_nat s) (ratio_text r)
  | Optimal (c, s, r) -> Printf.sprintf
    "an algorithm with C = %s, S = %d, R = %s exists, and none of at most %s has a lower R/C"
    (digits_of c) (int_of_nat s) (ratio_text r) (steps_text s)
  | Family (c, more_c, s, more_s, r, more_r) ->
    let growth first more = if more = "1" then first ^ " + n" else first ^ " + " ^ more ^ " n" in
    let number s = string_of_int (int_of_nat s) in
    Printf.sprintf "for every n >= 0 an algorithm with C = %s, S = %s, R = %s exists"
      (growth (digits_of c) (digits_of more_c)) (growth (number s) (number more_s))
      (growth (ratio_text r) (ratio_text more_r))

let place_text = function
  | AtCollective -> "the collective"
  | AtDistance -> "the distance"
  | AtCertificate i -> Printf.sprintf "certificate %d" (int_of_nat i)
  | AtPoint i -> Printf.sprintf "point %d" (int_of_nat i)
  | AtFamily i -> Printf.sprintf "family %d" (int_of_nat i)

(* The file as a theorem of Coq. *)

let list_text item l = "[" ^ String.concat "; " (List.map item l) ^ "]"
let option_text item = function None -> "None" | Some x -> "(Some " ^ item x ^ ")"
let node_text = digits_of
let z_text z = "(" ^ number_text z ^ ")%Z"
let q_text q = Printf.sprintf "(%s # %s)%%Q" (number_text q.qnum) (digits_of (Npos q.qden))
let nat_text n = string_of_int (int_of_nat n) ^ "%nat"
let nodes_text = list_text node_text
let pair_text a b (x, y) = Printf.sprintf "(%s, %s)" (a x) (b y)
let link_text = pair_text node_text node_text
let chunk_text x = Printf.sprintf "(Chunk %s %s)" (nodes_text x.pre) (nodes_text x.post)
let table_text = list_text (list_text z_text)
let users_text = list_text (pair_text chunk_text node_text)

let certificate_text = function
  | ByPrices (most, room, prices, shares) ->
    let share s = Printf.sprintf "(Share %s %s %s)" (node_text s.goal) (table_text s.parts)
      (users_text s.users) in
    Printf.sprintf "(ByPrices %s %s %s %s)" (option_text nat_text most) (q_text room)
      (table_text prices) (list_text share shares)
  | ByCut (inside, cover, leaving) ->
    Printf.sprintf "(ByCut %s %s %s)" (nodes_text inside) (nodes_text cover)
      (list_text (pair_text node_text users_text) leaving)
  | BySends (parts, moved, one, prices) ->
    Printf.sprintf "(BySends %s %b %s %s)" (nodes_text parts) moved (z_text one)
      (list_text z_text prices)
  | ByTrees (most, room, multiple, prices, trees) ->
    let tree t = Printf.sprintf "(Tree %s %s %b %s %s)" (chunk_text t.spanning) (node_text t.root)
      t.inward (table_text t.portion) (list_text (pair_text node_text nodes_text) t.images) in
    Printf.sprintf "(ByTrees %s %s %s %s %s)" (nat_text most) (q_text room) (z_text multiple)
      (table_text prices) (list_text tree trees)
  | ByCompletions (most, room, multiple, prices, cases) ->
    let way w = Printf.sprintf "(Way %s %s %s)" (node_text w.source) (node_text w.destination)
      (table_text w.part) in
    let rec plan = function
      | Direct (ways, collects) ->
        Printf.sprintf "(Direct %s %s)" (list_text way ways) (list_text way collects)
      | Either (p, q) -> Printf.sprintf "(Either %s %s)" (plan p) (plan q)
      | Split (over, step, made, never) ->
        Printf.sprintf "(Split %s %s %s %s)" (link_text over) (nat_text step) (plan made) (plan never) in
    let case = pair_text (pair_text node_text nat_text) plan in
    Printf.sprintf "(ByCompletions %s %s %s %s %s)" (nat_text most) (q_text room) (z_text multiple)
      (table_text prices) (list_text (pair_text chunk_text (list_text case)) cases)

let send_text s = Printf.sprintf "Send %s %s %s %s %s" (node_text s.what) (node_text s.from)
  (node_text s.to0) (nat_text s.step) (nodes_text s.carried)

let arrivals_text = list_text (list_text (list_text send_text))

let point_text p = Printf.sprintf "(Point %s %s\n  %s %s %s)" (node_text p.chunks_of_node)
  (list_text q_text p.point_rounds) (arrivals_text p.point_sends) (q_text p.stated_rounds) (option_text node_text p.proved_by)

let family_text f =
  let rounds = list_text q_text in
  let part p = Printf.sprintf "(Part %s %s\n  %s)" (node_text p.chunks_of_part)
    (rounds p.part_rounds) (arrivals_text p.part_arrivals) in
  Printf.sprintf "(Waves %s %s %s %s %s %s %s)" (nat_text f.first_waves) (rounds f.ramp_up)
    (rounds f.usual_rounds) (rounds f.ramp_down) (part f.wave_part) (list_text part f.head_parts)
    (list_text part f.tail_parts)

let distance_text d = Printf.sprintf "(Distance %s %s %s %s)" (chunk_text d.of_chunk)
  (node_text d.starts_at) (node_text d.needed_at) (nat_text d.links_away)

let claim_term = function
  | Takes s -> "Takes " ^ nat_text s
  | AtLeast (most, b) -> Printf.sprintf "AtLeast %s %s" (option_text nat_text most) (q_text b)
  | Exists (c, s, r) -> Printf.sprintf "Exists %s %s %s" (node_text c) (nat_text s) (q_text r)
  | Optimal (c, s, r) -> Printf.sprintf "Optimal %s %s %s" (node_text c) (nat_text s) (q_text r)
  | Family (c, more_c, s, more_s, r, more_r) -> Printf.sprintf "Family %s %s %s %s %s %s"
    (node_text c) (node_text more_c) (nat_text s) (nat_text more_s) (q_text r) (q_text more_r)

let print_theorem f claims =
  let counts = function EachSend -> "EachSend" | CopiesOnce -> "CopiesOnce" | SumsOnce -> "SumsOnce" in
  let bound b = Printf.sprintf "Bound %s %s %s" (list_text link_text b.over) (q_text b.capacity)
    (counts b.counts) in
  Printf.printf "From Coq Require Import List NArith ZArith QArith.\n\
    From Syncoll Require Import Definitions Paths Shares Spanning Completing Certificates Waves Check.\n\
    Import ListNotations.\nOpen Scope N_scope.\n\n\
    Definition the_machine : machine := Machine\n  %s\n  %s\n  %s.\n\n\
    Definition the_collective : collective := Collective %b %s\n  %s.\n\n"
    (list_text link_text f.on_machine.links) (list_text bound f.on_machine.bounds)
    (digits_of (Npos f.on_machine.grains))
    f.for_collective.combining (node_text f.for_collective.per)
    (list_text (pair_text chunk_text node_text) f.for_collective.classes);
  Printf.printf "Definition claims : list claim := [\n  %s].\n\n"
    (String.concat ";\n  " (List.map claim_term claims));
  Printf.printf "Definition evidence : frontier := Frontier the_machine the_collective %s %s\n\
    [%s]\n[%s]\n[%s].\n\n" (nat_text f.node_count) (option_text distance_text f.far_apart)
    (String.concat ";\n" (List.map (pair_text certificate_text q_text) f.certificates))
    (String.concat ";\n" (List.map point_text f.points))
    (String.concat ";\n" (List.map family_text f.families));
  print_string "Theorem frontier_holds :\n  \
    forall c, In c claims -> holds_true the_machine the_collective c.\n\
    Proof. apply (accepted_claims_hold evidence). vm_compute. reflexivity. Qed.\n\n\
    Print Assumptions frontier_holds.\n"

let () =
  let show_claims file _ claims =
    List.iter (fun c -> print_endline ("proved: " ^ claim_text c)) claims;
    Printf.printf "%s: accepted: %d claims\n" file (List.length claims) in
  let reading file f =
    try f () with
    | Unreadable text -> Printf.eprintf "%s: %s\n" file text; exit 2
    | Sys_error text -> Printf.eprintf "%s\n" text; exit 2 in
  let judge file show = reading file (fun () ->
    load file;
    let f = read_frontier () in
    match check f with
    | Accepted claims -> show f claims
    | Refused place -> Printf.eprintf "%s: refused: %s\n" file (place_text place); exit 1) in
  let refute file proof =
    let clauses = reading file (fun () -> read_clauses file) in
    let lines = reading proof (fun () -> read_proof proof) in
    if check_lrat clauses lines then
      Printf.printf "proved: the %d clauses of %s have no model\n" (List.length clauses) file
    else (Printf.eprintf "%s: refused: it does not refute %s\n" proof file; exit 1) in
  match Array.to_list Sys.argv with
  | [_; file] -> judge file (show_claims file)
  | [_; "--coq"; file] -> judge file print_theorem
  | [_; "--lrat"; file; proof] -> refute file proof
  | _ -> prerr_endline "usage: checker [--coq] FILE, or checker --lrat CNF PROOF"; exit 2
