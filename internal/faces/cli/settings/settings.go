// Package settings is how a host is set up: by a file in its data folder, by the
// environment and by flags, each stronger than the one before (faces page, section
// 2). Every value knows where it comes from.
//
// It promises that what it does not understand, and what would be unsafe, is refused
// with its place and a command that mends it, never passed over. The file is at
// most bound.SettingsBytes. The functions keep nothing and change nothing.
package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/egress"
	"github.com/stewardhost/steward/internal/means/ownership"
)

// File is the name of the file in the data folder.
const File = "steward.toml"

// Row is one setting.
type Row struct {
	Key   string // in the file; the flag has hyphens in place of underscores, and the variable is STEWARD_ and the key in capitals
	Usual string
	Help  string
	Short string // the flag's letter, if it has one
	Kind  Kind
	check func(value string) error
}

// Kind is what a setting's value is.
type Kind int

// The kinds.
const (
	Text Kind = iota
	Switch
	Number
)

// Int is the usual value of a number.
func (r Row) Int() int64 { return number(r.Usual) }

// number reads what was checked before.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// Flag is the setting's name on the command line of steward up.
func (r Row) Flag() string { return strings.ReplaceAll(r.Key, "_", "-") }

// Variable is the setting's name in the environment.
func (r Row) Variable() string { return "STEWARD_" + strings.ToUpper(r.Key) }

// The keys.
const (
	Listen  = "listen"
	Metrics = "metrics"
	Quiet   = "quiet"
	Debug   = "debug"
	LogJSON = "log_json"

	PerMinute = "resource_per_minute"
	AtOnce    = "resource_at_once"

	Exceptions = "egress_exceptions"
	Document   = "client_document"

	NATSURL = "nats_url"
	NATSCA  = "nats_ca"
)

// Rows is the table of settings.
func Rows() []Row {
	return []Row{
		{Listen, trouble.UsualListen, "address and port of the HTTP doors; port 0 is any free one", "", Text, trouble.CheckListen},
		{Metrics, "", "serve metrics and profiles on a loopback address and port, or on a socket in the data folder: " + trouble.MetricsSocket, "", Text, trouble.CheckMetrics},
		{Quiet, "false", "print nothing but problems", "q", Switch, nil},
		{Debug, "false", "log more", "", Switch, nil},
		{LogJSON, "false", "log lines of JSON", "", Switch, nil},
		{PerMinute, fmt.Sprint(bound.ResourcePerMinute.Max), "how many calls a minute a connection takes from all apps together", "", Number, checkCeiling},
		{AtOnce, fmt.Sprint(bound.ResourceAtOnce.Max), "how many calls at once a connection takes, of which one is kept for you", "", Number, checkCeiling},
		{Exceptions, "", "what may be reached beside public addresses, each as ORIGIN=NETWORK, with blanks between them; not conforming, and shown everywhere", "", Text, checkExceptions},
		{Document, "", "the https URL of a client ID metadata document of yours that names this steward, for servers that know clients by those", "", Text, checkDocument},
		{NATSURL, "", "NATS servers that carry the bus in place of the one inside, as tls://HOST:PORT with commas between them; steward bus config prints what they need", "", Text, checkServers},
		{NATSCA, "", "a file of the authorities that vouch for those servers, in place of the system's", "", Text, nil},
	}
}

func checkCeiling(value string) error {
	n := number(value)
	if err := (budget.Ceiling{PerMinute: n, AtOnce: n}).Check(); err != nil {
		return trouble.UsageOf("steward up --help", "%s", fault.From(err).Text)
	}
	return nil
}

func checkExceptions(value string) error {
	for _, e := range strings.Fields(value) {
		if _, err := egress.ParseException(e); err != nil {
			return trouble.UsageOf("steward up --help", "%s", fault.From(err).Text)
		}
	}
	return nil
}

// checkDocument holds a URL to what a client ID metadata document may have.
func checkDocument(value string) error {
	if value == "" {
		return nil
	}
	t, err := egress.Parse(value)
	if err != nil || !strings.HasPrefix(value, "https://") || strings.Trim(t.Path(), "/") == "" || strings.ContainsAny(value, "?#") {
		return trouble.UsageOf("steward up --help", "a client document is an https URL with a path, and without ? and #")
	}
	return nil
}

// Value is a setting as it is in force.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // default, a file with its line, environment NAME, or flag --name
}

// Values are all settings, in the order of the table.
type Values []Value

// Text is a setting's value.
func (v Values) Text(key string) string {
	i := slices.IndexFunc(v, func(one Value) bool { return one.Key == key })
	return v[i].Value
}

// Bool is a setting that is on or off.
func (v Values) Bool(key string) bool { return v.Text(key) == "true" }

// Int is a setting that is a number.
func (v Values) Int(key string) int64 { return number(v.Text(key)) }

// Load puts the settings of a data folder together. Flags holds those that were
// given, by their names; env is the environment. The error is a trouble.
func Load(home string, flags map[string]string, env func(string) (string, bool)) (Values, error) {
	path := filepath.Join(home, File)
	filed, err := read(path)
	if err != nil {
		return nil, err
	}
	var out Values
	for _, r := range Rows() {
		v, fix := Value{r.Key, r.Usual, "default"}, ""
		if f, ok := filed[r.Key]; ok {
			v, fix = Value{r.Key, f.text, fmt.Sprintf("%s, line %d", path, f.line)}, drop(path, f.line)
		}
		if text, ok := env(r.Variable()); ok {
			v, fix = Value{r.Key, text, "environment " + r.Variable()}, "unset "+r.Variable()
		}
		if text, ok := flags[r.Flag()]; ok {
			v, fix = Value{r.Key, text, "flag --" + r.Flag()}, ""
		}
		if err := r.judge(v, fix); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// judge holds a value to its row. Fix is the command that takes it away; a flag
// needs none.
func (r Row) judge(v Value, fix string) error {
	var err error
	if r.Kind == Switch && v.Value != "true" && v.Value != "false" {
		err = trouble.UsageOf("steward up --help", "%s is true or false, and not %s", r.Key, paper.Word(v.Value))
	} else if r.check != nil {
		err = r.check(v.Value)
	}
	var t *trouble.Trouble
	if !errors.As(err, &t) || fix == "" {
		return err
	}
	return trouble.New(trouble.Unsafe, t.What+" ("+v.Origin+")", fix)
}

// filed is a value of the file.
type filed struct {
	text string
	line int
}

// read reads the file; one that is not there says nothing.
func read(path string) (map[string]filed, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && !mine(filepath.Dir(path)) {
		return nil, nil // the host itself says whose a folder is that it may not look into
	}
	if err != nil {
		return nil, trouble.New(trouble.Unsafe, err.Error(), "chmod 600 "+paper.Word(path))
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && !own(info) {
		return nil, trouble.New(trouble.Unsafe, "others can change "+path, "chmod 600 "+paper.Word(path))
	}
	raw, bad := io.ReadAll(io.LimitReader(file, bound.SettingsBytes.Max+1))
	if err := errors.Join(err, bad, bound.SettingsBytes.Check(len(raw))); err != nil {
		return nil, trouble.New(trouble.Unsafe, path+": "+err.Error(), "mv "+paper.Word(path)+" "+paper.Word(path+".old"))
	}
	return parse(path, raw)
}

// mine reports whether a folder is this user's.
func mine(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && ownership.Mine(info)
}

// own reports whether only this user, or the system's, can change a file.
func own(info fs.FileInfo) bool {
	return (ownership.Mine(info) || ownership.OfRoot(info)) && info.Mode().Perm()&0o022 == 0
}

// document is the file. Every key of the table is a field.
type document struct {
	Listen  *string `toml:"listen"`
	Metrics *string `toml:"metrics"`
	Quiet   *bool   `toml:"quiet"`
	Debug   *bool   `toml:"debug"`
	LogJSON *bool   `toml:"log_json"`

	PerMinute *int64 `toml:"resource_per_minute"`
	AtOnce    *int64 `toml:"resource_at_once"`

	Exceptions *string `toml:"egress_exceptions"`
	Document   *string `toml:"client_document"`

	NATSURL *string `toml:"nats_url"`
	NATSCA  *string `toml:"nats_ca"`
}

func parse(path string, raw []byte) (map[string]filed, error) {
	var doc document
	err := toml.NewDecoder(strings.NewReader(string(raw))).DisallowUnknownFields().Decode(&doc)
	var unknown *toml.StrictMissingError
	var broken *toml.DecodeError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		first := &unknown.Errors[0]
		line, _ := first.Position()
		name := strings.Join(first.Key(), ".")
		what, fix := fmt.Sprintf("%s, line %d: there is no setting %s", path, line, paper.Word(name)), drop(path, line)
		if meant := nearest(name, string(raw)); meant != "" {
			what, fix = what+"; "+meant+" is near", fmt.Sprintf("sed -i.old %s %s", paper.Word(fmt.Sprintf("%ds/%s/%s/", line, name, meant)), paper.Word(path))
		}
		return nil, trouble.New(trouble.Unsafe, what, fix)
	case errors.As(err, &broken):
		line, _ := broken.Position()
		what, _, _ := strings.Cut(strings.TrimPrefix(broken.Error(), "toml: "), "\n")
		return nil, trouble.New(trouble.Unsafe, fmt.Sprintf("%s, line %d: %s", path, line, what), drop(path, line))
	case err != nil:
		return nil, trouble.New(trouble.Unsafe, path+" is no TOML", "mv "+paper.Word(path)+" "+paper.Word(path+".old"))
	}
	out := map[string]filed{}
	put := func(key, text string) { out[key] = filed{text, lineOf(string(raw), key)} }
	for key, text := range map[string]*string{Listen: doc.Listen, Metrics: doc.Metrics, Exceptions: doc.Exceptions, Document: doc.Document, NATSURL: doc.NATSURL, NATSCA: doc.NATSCA} {
		if text != nil {
			put(key, *text)
		}
	}
	for key, on := range map[string]*bool{Quiet: doc.Quiet, Debug: doc.Debug, LogJSON: doc.LogJSON} {
		if on != nil {
			put(key, strconv.FormatBool(*on))
		}
	}
	for key, n := range map[string]*int64{PerMinute: doc.PerMinute, AtOnce: doc.AtOnce} {
		if n != nil {
			put(key, strconv.FormatInt(*n, 10))
		}
	}
	return out, nil
}

// lineOf finds the line of a key that the file has, on a line of its own.
func lineOf(text, key string) int {
	n := 0
	for line := range strings.Lines(text) {
		n++
		name, _, ok := strings.Cut(line, "=")
		if ok && strings.Trim(name, " \t\"'") == key {
			return n
		}
	}
	return n
}

// drop is the command that takes a line out and keeps the file as it was beside it.
func drop(path string, line int) string {
	return fmt.Sprintf("sed -i.old %dd %s", line, paper.Word(path))
}
