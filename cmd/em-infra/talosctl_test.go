package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestCommandsForTalosctlAreUnderstood: what messages and pages tell people to run with talosctl is parsed with its own commands and
// flags, read from its source. What such commands ask the nodes of the lab is tested with Talos' client in internal/lab/talos.
func TestCommandsForTalosctlAreUnderstood(t *testing.T) {
	t.Parallel()
	newTalosctl := talosctlOfItsSource(t)
	begin := regexp.MustCompile(`(?:^|[^\w/.-])(talosctl )`)
	count := 0
	for place, texts := range textsForPeople(t) {
		for _, text := range texts {
			for _, sentence := range sentencesFrom(begin, strings.ReplaceAll(filled(text), "\\\n", " ")) {
				args := leading(strings.TrimPrefix(sentence, "talosctl "))
				command, rest, err := newTalosctl().Find(afterFlags(sentence, args))
				if err != nil || !command.HasParent() {
					require.Regexp(t, `^talosctl (?:(?:-\S+ [A-Zx]\S* ?)+(?:with .*)?$|has |reads |was )`, sentence, "%s: talosctl has no such command", place)
					global, _, _ := strings.Cut(sentence, " with ")
					if !strings.Contains(global, " -") {
						continue // a sentence about talosctl
					}
					require.NoError(t, newTalosctl().ParseFlags(strings.Fields(strings.TrimPrefix(global, "talosctl "))), "%s: %q", place, sentence)
					continue
				}
				count++
				require.NoError(t, command.ParseFlags(rest), "%s: %q", place, sentence)
			}
		}
	}
	require.Greater(t, count, 25, "the sources and pages are read")
}

// afterFlags returns the words up to the last flag, and at least the command that follows the flags for all commands, and one more word, which may be
// a subcommand.
func afterFlags(sentence string, args []string) []string {
	words := strings.Fields(sentence)[1:]
	at := 0
	for at < len(words) && strings.HasPrefix(words[at], "-") {
		at += 2
	}
	if wanted := min(at+3, len(words)); wanted > len(args) {
		args = words[:wanted]
	}
	for i := range args {
		args[i] = strings.TrimRight(args[i], ".,:)'")
	}
	return args
}

// talosctlOfItsSource returns a function that makes talosctl's tree of commands with their flags, as its source declares them (siderolabs/talos,
// cmd/talosctl/cmd). Building talosctl would compile fifteen hundred packages.
func talosctlOfItsSource(t *testing.T) func() *cobra.Command {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/siderolabs/talos").Output()
	require.NoError(t, err)
	source := talosctlSource{uses: map[string]string{}, parents: map[string]string{}}
	for _, folder := range []string{"talos", "mgmt", "mgmt/gen"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "cmd/talosctl/cmd", folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			source.read(parsed)
		}
	}
	require.Greater(t, len(source.uses), 60)
	return source.tree
}

// talosctlSource is what the source declares: the use and the parent of each command, by the variable of the command, and the flags.
type talosctlSource struct {
	uses, parents map[string]string
	flags         []talosctlFlag
}

type talosctlFlag struct {
	command, name, short string
	isBool, isPersistent bool
}

func (s *talosctlSource) read(file *ast.File) {
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ValueSpec:
			if len(node.Names) == 1 && len(node.Values) == 1 {
				s.readCommand(node.Names[0].Name, node.Values[0])
			}
		case *ast.CallExpr:
			s.readCall(node)
		}
		return true
	})
}

func (s *talosctlSource) readCommand(name string, value ast.Expr) {
	pointer, ok := value.(*ast.UnaryExpr)
	if !ok {
		return
	}
	literal, ok := pointer.X.(*ast.CompositeLit)
	if !ok {
		return
	}
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok && isNamed(pair.Key, "Use") {
			s.uses[name] = textOf(pair.Value)
		}
	}
}

func (s *talosctlSource) readCall(call *ast.CallExpr) {
	if isNamed(call.Fun, "addCommand") {
		s.parents[nameOf(call.Args[0])] = ""
		return
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if method.Sel.Name == "AddCommand" {
		for _, child := range call.Args {
			s.parents[nameOf(child)] = nameOf(method.X)
		}
		return
	}
	flags, ok := method.X.(*ast.CallExpr)
	if !ok {
		return
	}
	of, ok := flags.Fun.(*ast.SelectorExpr)
	if !ok || of.Sel.Name != "Flags" && of.Sel.Name != "PersistentFlags" {
		return
	}
	flag := talosctlFlag{command: nameOf(of.X), isBool: strings.HasPrefix(method.Sel.Name, "Bool"), isPersistent: of.Sel.Name == "PersistentFlags"}
	var texts []string // the name, and the short one where the method takes it
	for _, arg := range call.Args {
		if _, isText := arg.(*ast.BasicLit); isText {
			texts = append(texts, textOf(arg))
		}
	}
	if !strings.Contains(method.Sel.Name, "Var") && !slices.Contains([]string{"Bool", "String"}, method.Sel.Name) || len(texts) == 0 {
		return
	}
	flag.name = texts[0]
	if strings.HasSuffix(method.Sel.Name, "P") {
		flag.short = texts[1]
	}
	s.flags = append(s.flags, flag)
}

// tree makes the commands. Flags of a variable that is no command are those that addCommand gives to each.
func (s *talosctlSource) tree() *cobra.Command {
	root := &cobra.Command{Use: "talosctl", SilenceErrors: true, SilenceUsage: true}
	commands := map[string]*cobra.Command{}
	for name, use := range s.uses {
		commands[name] = &cobra.Command{Use: use, Run: func(*cobra.Command, []string) {}}
	}
	for _, flag := range s.flags {
		set := root.PersistentFlags()
		command, isKnown := commands[flag.command]
		switch {
		case isKnown && flag.isPersistent:
			set = command.PersistentFlags()
		case isKnown:
			set = command.Flags()
		case !flag.isPersistent:
			flag.short = "" // a function gives it to some commands, which is not read here
		}
		if set.Lookup(flag.name) != nil {
			continue // two of its packages declare it
		}
		if flag.isBool {
			set.BoolP(flag.name, flag.short, false, "")
		} else {
			set.StringP(flag.name, flag.short, "", "")
		}
	}
	for name, command := range commands {
		if parent, isChild := commands[s.parents[name]]; isChild {
			parent.AddCommand(command)
		} else {
			root.AddCommand(command)
		}
	}
	return root
}

func isNamed(expression ast.Expr, name string) bool { return nameOf(expression) == name }

func nameOf(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
