// Package program has programs whose steps are calls through steward, and whose
// step `run` is a program again: a server executes it that is behind steward itself
// and calls steward for each of its steps. What a whole program comes to can be told
// beforehand, and the tx of each step follows from its place, so that a program can
// be taken up where it was broken off (proof, R21).
package program

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"math/rand/v2"
)

// The kinds of steps.
const (
	Count = "count" // one effect of the oracle
	Put   = "put"   // a value under a key
	Copy  = "copy"  // the value of another key under a key
	Run   = "run"   // a program
)

// Step is one step of a program.
type Step struct {
	Do    string `json:"do"`
	Key   string `json:"key,omitempty"`
	From  string `json:"from,omitempty"`
	Value string `json:"value,omitempty"`
	Steps []Step `json:"steps,omitempty"`
}

const keysOfProgram = 4

// nothing is copied from a key that has no item. A copy that did not put would leave
// no trace by which it is known to be over.
const nothing = "nothing"

// Random makes a program of some steps whose keys begin with the name.
func Random(chance *rand.Rand, name string, depth int) []Step {
	steps := make([]Step, 2+chance.IntN(4))
	key := func() string { return fmt.Sprintf("%s-%d", name, chance.IntN(keysOfProgram)) }
	for i := range steps {
		switch at := chance.IntN(10); {
		case at < 3:
			steps[i] = Step{Do: Count}
		case at < 5:
			steps[i] = Step{Do: Put, Key: key(), Value: fmt.Sprint(chance.IntN(1000))}
		case at < 7 || depth == 0:
			steps[i] = Step{Do: Copy, Key: key(), From: key()}
		default:
			steps[i] = Step{Do: Run, Steps: Random(chance, name, depth-1)}
		}
	}
	return steps
}

// World is what programs leave behind: the items, and of each place that counts how
// often it did.
type World struct {
	Items  map[string]string
	Counts map[string]int
}

// Apply is what a program comes to that nothing breaks off.
func (w World) Apply(path string, steps []Step) {
	for i, s := range steps {
		at := Place(path, i)
		switch s.Do {
		case Count:
			w.Counts[at]++
		case Put:
			w.Items[s.Key] = s.Value
		case Copy:
			v, ok := w.Items[s.From]
			if !ok {
				v = nothing
			}
			w.Items[s.Key] = v
		case Run:
			w.Apply(at, s.Steps)
		}
	}
}

// Place names a step of a program.
func Place(path string, step int) string { return fmt.Sprintf("%s.%d", path, step) }

// Tx is the tx of an attempt at a step, of a program born at that Unix millisecond.
func Tx(born int64, place string, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s#%d", place, attempt))
	n := new(big.Int).SetBytes(sum[:10])
	n.Or(n, new(big.Int).Lsh(big.NewInt(born), 80))
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	text := make([]byte, 26)
	for i := range text {
		text[i] = digits[new(big.Int).Rsh(n, uint(5*(25-i))).Uint64()&31]
	}
	return "tx_" + string(text)
}
