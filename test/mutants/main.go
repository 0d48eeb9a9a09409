// Command mutants removes one guard at a time from a copy of the tree and wants
// the test that holds it to fail (proof, R22). A guard that can go unnoticed is a
// rule that nobody keeps.
//
//	mutants [-run REGEXP] [-head] [-keep]
//
// Each row of the table is tried by itself; a row whose text is not in its file
// exactly once, or that does not compile, is a failure too, so that the table
// cannot fall behind the code. The first pass over the unchanged copy wants every
// test of the table to pass.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// guard is one rule and the test that holds it.
type guard struct {
	name string
	file string
	was  string   // stands in the file exactly once
	is   string   // what stands there without the guard
	test []string // arguments of go test
}

// testTime bounds one test, which may hang without its guard.
const testTime = 2 * time.Minute

func main() {
	only := flag.String("run", "", "try the guards whose names match")
	head := flag.Bool("head", false, "take the tree of the last commit, not the work tree")
	keep := flag.Bool("keep", false, "leave the copy behind")
	flag.Parse()
	if err := run(*only, *head, *keep); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(only string, head, keep bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "steward-mutants-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println("the copy is", root)
	} else {
		defer os.RemoveAll(root)
	}
	take := copyTree
	if head {
		take = copyHead
	}
	if err := take(root); err != nil {
		return err
	}
	tried, held := 0, 0
	whole := map[string]error{}
	for _, g := range guards {
		if !pattern.MatchString(g.name) {
			continue
		}
		tried++
		began := time.Now()
		if err := try(root, g, whole); err != nil {
			fmt.Printf("LOST  %-50s %v\n", g.name, err)
			continue
		}
		held++
		fmt.Printf("held  %-50s %s\n", g.name, time.Since(began).Round(100*time.Millisecond))
	}
	fmt.Printf("figure R22  %d of %d guards are held by a test\n", held, tried)
	if held < tried || tried == 0 {
		return errors.New("a guard can be removed and nobody notices")
	}
	return nil
}

// copyTree copies what git tracks or would track, as it stands in the work tree.
func copyTree(root string) error {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("not inside the tree: %w", err)
	}
	dir := strings.TrimSpace(string(top))
	list := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return err
	}
	for _, name := range strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }) {
		from, to := filepath.Join(dir, name), filepath.Join(root, name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted in the work tree
		}
		raw, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = os.WriteFile(to, raw, info.Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyHead copies what was committed last.
func copyHead(root string) error {
	pack := exec.Command("git", "archive", "--format=tar", "HEAD")
	unpack := exec.Command("tar", "-x", "-C", root)
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("not inside the tree: %w", err)
	}
	pack.Dir = strings.TrimSpace(string(top))
	pipe, err := pack.StdoutPipe()
	if err != nil {
		return err
	}
	unpack.Stdin = pipe
	if err := errors.Join(unpack.Start(), pack.Run()); err != nil {
		return err
	}
	return unpack.Wait()
}

// try runs the guard's test with the guard, once for all rows that have the same
// test, and without it.
func try(root string, g guard, whole map[string]error) error {
	key := strings.Join(g.test, " ")
	if _, known := whole[key]; !known {
		whole[key] = passes(root, g.test)
	}
	if err := whole[key]; err != nil {
		return fmt.Errorf("the test fails with the guard too: %w", err)
	}
	path := filepath.Join(root, g.file)
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := bytes.Count(raw, []byte(g.was)); n != 1 {
		return fmt.Errorf("the guard stands %d times in %s; mend the table", n, g.file)
	}
	if err := os.WriteFile(path, bytes.Replace(raw, []byte(g.was), []byte(g.is), 1), 0o600); err != nil {
		return err
	}
	defer os.WriteFile(path, raw, 0o600)
	err = passes(root, g.test)
	var bad *failure
	switch {
	case err == nil:
		return fmt.Errorf("go test %s passes without it", key)
	case !errors.As(err, &bad):
		return err
	case bad.built:
		return fmt.Errorf("it does not compile without it: %s", bad.tail())
	}
	return nil
}

// failure is a test that failed, or that did not compile.
type failure struct {
	out   []byte
	built bool
}

func (f *failure) Error() string { return f.tail() }

func (f *failure) tail() string { return string(f.out[max(0, len(f.out)-600):]) }

func passes(root string, test []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testTime)
	defer cancel()
	args := append([]string{"test", "-count=1", "-timeout=" + (testTime - 20*time.Second).String()}, test...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "STEWARD_") }) // quick, and silent
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && cmd.ProcessState == nil:
		return err
	case err != nil:
		return &failure{out, bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]"))}
	case bytes.Contains(out, []byte("no tests to run")):
		return fmt.Errorf("go test %s runs no test", strings.Join(test, " "))
	}
	return nil
}
