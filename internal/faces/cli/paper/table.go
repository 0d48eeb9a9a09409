package paper

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table is rows of cells under a head. The zero value has neither.
type Table struct {
	head []string
	rows [][]string
}

// NewTable starts a table; without a head it is a list of names and values.
func NewTable(head ...string) *Table { return &Table{head: head} }

// Row adds a row. Empty cells are dashes in a table with a head.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Line(c)
		if c == "" && len(t.head) > 0 {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Write lays the table out, each line behind the indent.
func (t *Table) Write(w io.Writer, indent string) {
	tabs := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(t.head) > 0 {
		fmt.Fprintln(tabs, indent+strings.Join(t.head, "\t"))
	}
	for _, row := range t.rows {
		fmt.Fprintln(tabs, indent+strings.Join(row, "\t"))
	}
	_ = tabs.Flush() // fails with its writer alone, whose troubles are nobody's here
}

// ListWidth is what a usual terminal shows on one line of a list.
const ListWidth = 120

// Fit is Write for lists that may be wider than ListWidth. What is the same in
// every row is told once above it, as far as that helps; if it does not, the last
// cell of each row, which is what it goes by, has a line of its own. Nothing is
// left out.
func (t *Table) Fit(w io.Writer) {
	narrow := &Table{slices.Clone(t.head), slices.Clone(t.rows)}
	var same []string
	for c := len(t.head) - 2; c > 0 && len(t.rows) > 1 && narrow.width() > ListWidth; c-- {
		value := t.rows[0][c]
		if slices.ContainsFunc(t.rows, func(row []string) bool { return row[c] != value }) {
			continue
		}
		if value != "-" {
			same = append(same, t.head[c]+" "+value)
		}
		narrow.head = slices.Delete(narrow.head, c, c+1)
		for i := range narrow.rows {
			narrow.rows[i] = slices.Delete(slices.Clone(narrow.rows[i]), c, c+1)
		}
	}
	if len(same) > 0 {
		slices.Reverse(same)
		fmt.Fprintf(w, "In every row: %s\n", strings.Join(same, "; "))
	}
	if narrow.width() <= ListWidth {
		narrow.Write(w, "")
		return
	}
	last := len(narrow.head) - 1
	var lines strings.Builder
	(&Table{narrow.head[:last], cut(narrow.rows, last)}).Write(&lines, "")
	for i, line := range strings.Split(strings.TrimSuffix(lines.String(), "\n"), "\n") {
		fmt.Fprintln(w, line)
		if i > 0 {
			fmt.Fprintf(w, "  %s %s\n", narrow.head[last], narrow.rows[i-1][last])
		}
	}
}

func cut(rows [][]string, at int) (out [][]string) {
	for _, row := range rows {
		out = append(out, row[:at])
	}
	return out
}

// width is that of the widest line.
func (t *Table) width() (sum int) {
	for c := range t.head {
		most := utf8.RuneCountInString(t.head[c])
		for _, row := range t.rows {
			most = max(most, utf8.RuneCountInString(row[c]))
		}
		sum += most + 2
	}
	return sum - 2
}
