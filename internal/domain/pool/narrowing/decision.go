package narrowing

import (
	"strings"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Decision is one difference between a schema and its proposal.
type Decision struct {
	Pointer string // JSON pointer of the schema it is about, in the proposal
	Kind    string // one of the Kind constants
	From    string // what the upstream's schema says; "" if nothing
	To      string // what the proposal says instead; "" if nothing
	// Exception marks what is no mere bound and keeps no meaning: a choice, a
	// loss, a rule left to the upstream. The owner looks at each of them.
	Exception bool
}

// The kinds of decisions.
const (
	KindMaxLength       = "max_length"
	KindMaxItems        = "max_items"
	KindMinimum         = "minimum"
	KindMaximum         = "maximum"
	KindExclusiveBound  = "exclusive_bound"   // no integer, or no double, lies between the old bound and the new
	KindCloseObject     = "close_object"      // it said nothing about further members
	KindCloseOpenObject = "close_open_object" // it welcomed further members
	KindCloseMap        = "close_map"         // it described further members

	KindInlineRef      = "inline_ref"
	KindFoldAllOf      = "fold_all_of"
	KindFoldConstUnion = "fold_const_union"
	KindInferType      = "infer_type"
	KindSetType        = "set_type"
	KindTypeList       = "type_list"
	KindPickBranch     = "pick_branch"
	KindEnumMembers    = "enum_members"

	KindLeaveFormat   = "leave_format"
	KindLeavePattern  = "leave_pattern"
	KindLeaveUnique   = "leave_unique"
	KindLeaveMultiple = "leave_multiple"
	KindLeaveMembers  = "leave_members"

	KindDefaultNotExecuted = "default_not_executed"
	KindDropDefault        = "drop_default"
	KindDropOptional       = "drop_optional"
	KindDropDefinitions    = "drop_definitions"
	KindDropAnnotation     = "drop_annotation"
	KindDropUnknown        = "drop_unknown"
	KindDropInapplicable   = "drop_inapplicable"
	KindCutText            = "cut_text"

	// What is withheld of a tool beside its input schema; the pointer is into the
	// tool's definition.
	KindWithholdOutput = "withhold_output"
	KindWithholdMember = "withhold_member"
)

// kinds gives each kind its sentence, whether the owner must look at it, and
// whether every value that fitted before still fits. {was} is "was" and the old
// value, or "had no limit".
var kinds = map[string]struct {
	sentence  string
	exception bool
	keeps     bool
}{
	KindMaxLength:       {"at most {to} characters ({was})", false, false},
	KindMaxItems:        {"at most {to} entries ({was})", false, false},
	KindMinimum:         {"at least {to} ({was})", false, false},
	KindMaximum:         {"at most {to} ({was})", false, false},
	KindExclusiveBound:  {"{to} in place of {from}", false, false},
	KindCloseObject:     {"no members but the named ones (others were not ruled out)", false, false},
	KindCloseOpenObject: {"no members but the named ones (others were welcome)", true, false},
	KindCloseMap:        {"members of free choice can no longer be given (they were {from})", true, false},

	KindInlineRef:      {"the definition {from} is written out", false, true},
	KindFoldAllOf:      {"{from} is written as one schema", false, true},
	KindFoldConstUnion: {"{from} is written as a list of values", false, true},
	KindInferType:      {"the type is written as {to}", false, true},
	KindSetType:        {"only {to} (the type was not given)", true, false},
	KindTypeList:       {"only {to} (was {from})", true, false},
	KindPickBranch:     {"only {to} (was {from})", true, false},
	KindEnumMembers:    {"{to} of {from} listed values remain", true, false},

	KindLeaveFormat:   {"{from} is left to the upstream to enforce", true, true},
	KindLeavePattern:  {"{from} is left to the upstream to enforce", true, true},
	KindLeaveUnique:   {"{from} is left to the upstream to enforce", true, true},
	KindLeaveMultiple: {"{from} is left to the upstream to enforce", true, true},
	KindLeaveMembers:  {"{from} is left to the upstream to enforce", true, true},

	KindDefaultNotExecuted: {"the default {from} is not filled in; when left out, the upstream decides", false, true},
	KindDropDefault:        {"the default {from} is not shown, as it does not fit", false, true},
	KindDropOptional:       {"can no longer be given: {from}", true, false},
	KindDropDefinitions:    {"{from} is gone, as what is used of it is written out", false, true},
	KindDropAnnotation:     {"the note {from} is not carried", false, true},
	KindDropUnknown:        {"the unknown note {from} is not carried", true, true},
	KindDropInapplicable:   {"{from} is gone, as it changes nothing here", false, true},
	KindCutText:            {"the {from} is cut to {to} bytes", false, true},

	KindWithholdOutput: {"it has no form here, so structured results are neither checked nor passed on", true, true},
	KindWithholdMember: {"apps are not shown it", false, true},
}

// shown bounds what a decision repeats of the upstream's text.
const shown = 200

// Withheld is the decision about a member of a tool's definition, as a pointer,
// that apps do not get.
func Withheld(kind, pointer string) Decision { return newDecision(pointer, kind, "", "") }

func newDecision(site, kind, from, to string) Decision {
	return Decision{site, kind, clip(from), clip(to), kinds[kind].exception}
}

func clip(s string) string {
	if len(s) <= shown {
		return s
	}
	return cut(s, shown) + "…"
}

// cut shortens a text to so many bytes, between two characters.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// String is a sentence for a person, such as "/path: at most 4,096 characters (had
// no limit)". It may repeat text of the upstream, which a face must escape.
func (d Decision) String() string {
	was := "had no limit"
	if d.From != "" {
		was = "was " + grouped(d.From)
	}
	fill := strings.NewReplacer("{was}", was, "{from}", grouped(d.From), "{to}", grouped(d.To))
	about := argument(d.Pointer)
	if d.Kind == KindWithholdOutput || d.Kind == KindWithholdMember {
		about = d.Pointer
	}
	return about + ": " + fill.Replace(kinds[d.Kind].sentence)
}

// argument turns the pointer of a schema into that of the values it is about;
// * stands for each entry of an array.
func argument(pointer string) string {
	if pointer == "" {
		return "the arguments"
	}
	var b strings.Builder
	tokens := strings.Split(pointer, "/")[1:]
	for i := 0; i < len(tokens); i++ {
		if tokens[i] == "properties" && i+1 < len(tokens) {
			i++
			b.WriteString("/" + tokens[i])
		} else {
			b.WriteString("/*")
		}
	}
	return b.String()
}

// grouped writes an integer with thousands set apart, anything else as it is.
func grouped(s string) string {
	digits := strings.TrimPrefix(s, "-")
	if strings.Trim(digits, "0123456789") != "" {
		return s
	}
	sign := s[:len(s)-len(digits)]
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func text(v strictjson.Value) string { return string(v.Append(nil)) }
