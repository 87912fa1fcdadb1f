(** The checker as an OCaml program; [main.ml] reads files and prints the verdict. *)

From Coq Require Import Extraction ExtrOcamlBasic NArith QArith.
From Syncoll Require Import Definitions Check Lrat.

Extraction Language OCaml.
Extraction "checker.ml" check check_lrat N.add N.mul N.succ N.div_eucl Z.of_N.
