package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAVerdictFollowsFromTheLimits(t *testing.T) {
	for _, tt := range []struct {
		name string
		row  row
		want string
	}{
		{"no bar", row{figure: 9}, ""},
		{"at the bar", row{figure: 20, bar: 20, stretch: 10}, "ok"},
		{"over the bar", row{figure: 20.1, bar: 20, stretch: 10}, "short"},
		{"at the stretch", row{figure: 10, bar: 20, stretch: 10}, "ok, stretch"},
		{"below zero", row{figure: -1, bar: 0.3, stretch: 0.15}, "ok, stretch"},
		{"more is better, at the bar", row{figure: 50, bar: 50, stretch: 70, more: true}, "ok"},
		{"more is better, under the bar", row{figure: 49.9, bar: 50, stretch: 70, more: true}, "short"},
		{"more is better, over the stretch", row{figure: 71, bar: 50, stretch: 70, more: true}, "ok, stretch"},
		{"no stretch", row{figure: 1, bar: 20}, "ok"},
	} {
		if diff := cmp.Diff(tt.want, tt.row.verdict()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// A subject's figures of one round must only be held against those of the same.
func TestRoundsArePaired(t *testing.T) {
	steward, alone := []float64{3, 13, 103}, []float64{1, 10, 100}
	if got := paired(3, func(i int) float64 { return steward[i] - alone[i] }); got != 3 {
		t.Errorf("the median of the differences is %v, want 3", got)
	}
}
