"""Trees against prices: one linear program for heuristics and bounds.

Given a number of steps S, every chunk takes a column: a timed tree, a pair of trees, anything that
loads bounds in steps.  The packing is

    minimise    sum over t of r(t)
    subject to  sum over columns x of load(x; b, t) share(x) <= rate(b) r(t)   for every b and t
                sum over the columns of a demand of share(x) = its chunks

It is solved as its dual: prices of bounds in steps, with a cost of at most 1 for a round of any
step, that maximise the cost of the cheapest columns.  An oracle is asked repeatedly for cheap
columns under these prices.  With a heuristic oracle the shares are an algorithm; with an exact one
the prices are a proof.

* `network`: a topology modulo a group of automorphisms: loads of columns, prices of links;
* `master`: the linear program, with columns that are added; bounds use it with exact oracles;
* `column_generation`: an oracle and smoothed prices, until a packing is at rest;
* `problem`: the demands of a collective modulo a free group;
* `timed_packing`: timed trees, which `pricing` finds by `trees` from nothing, by `arrivals` from
  known ones;
* `whole_chunks`: from shares to whole chunks, by `remainders` and `local_search`;
* `few_chunks`: whole chunks for a small C, by replacing columns;
* `send_programs`: replaces a few columns by an integer program over sends;
* `expand_orbits`: from whole chunks to an algorithm of all nodes;
* `step_order`: the order in which S are tried.
"""
