// Command bench measures the figures of design §7 on this machine and prints them
// beside their targets: the median of several runs, the least and the most. It
// starts control planes of its own in a temporary directory and removes them.
//
// It owns measuring and no behaviour. It is not a test: on a busy machine a figure
// may be over its target, so beside the wall clock it shows the processor seconds
// of each process, which other programs do not change much. Figures that come from
// Go benchmarks are those benchmarks' own.
//
//	go run ./hack/bench                   all figures, three runs each
//	go run ./hack/bench -quick            one run, 200 profiles, short pauses
//	go run ./hack/bench -run 'profiles'   only scenarios that match
package main
