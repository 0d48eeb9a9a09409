package shape

import (
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/schema"
)

// Misfit is a place in an upstream's schema that cannot be expressed.
type Misfit struct {
	*schema.Refusal
	Fatal bool // nothing that is left out around it would help

	// cycle is the definition that contains itself, while it is being written
	// out: cutting it short inside would quietly change what it describes.
	cycle string
}

// Droppable reports whether leaving out the optional member around it helps.
func (m *Misfit) Droppable() bool { return !m.Fatal && m.cycle == "" }

// Unfit is a misfit at a JSON pointer of the document.
func Unfit(at, text string) *Misfit {
	return &Misfit{Refusal: &schema.Refusal{Pointer: at, Text: text}}
}

// Fatal is a misfit that refuses the whole document.
func Fatal(at, text string) *Misfit {
	m := Unfit(at, text)
	m.Fatal = true
	return m
}

// Over is the misfit of what exceeds a bound.
func Over(at string, row bound.Row) *Misfit { return Unfit(at, row.Exceeded().Text) }
