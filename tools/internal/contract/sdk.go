package contract

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// FromSDK reads the facts from the Go sources under dir, which Pulumi's code generator wrote for a package.
func FromSDK(dir string) (Facts, error) {
	facts := Facts{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return packageFacts(path, facts)
	})
	if err != nil {
		return nil, fmt.Errorf("read the SDK in %s: %w", dir, err)
	}
	return facts, nil
}

// packageFacts adds the resources that the package in a directory registers, and the functions that it invokes.
func packageFacts(dir string, facts Facts) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	pkg := sdkPackage{named: map[string]ast.Expr{}, facts: facts}
	var funcs []*ast.FuncDecl
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		funcs = append(funcs, pkg.declarations(file)...)
	}
	for _, fn := range funcs {
		if err := pkg.function(fn); err != nil {
			return fmt.Errorf("%s: %w", fn.Name, err)
		}
	}
	return nil
}

// sdkPackage is a Go package of an SDK: its types by name, and the facts to which it adds.
type sdkPackage struct {
	named map[string]ast.Expr
	facts Facts
}

// declarations records the types of a file and returns its functions.
func (p sdkPackage) declarations(file *ast.File) []*ast.FuncDecl {
	var funcs []*ast.FuncDecl
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			funcs = append(funcs, decl)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					p.named[t.Name.Name] = t.Type
				}
			}
		}
	}
	return funcs
}

// function adds the facts of a constructor ("NewX" calls ctx.RegisterResource) or of a function ("GetX" calls ctx.Invoke). It
// ignores all others.
func (p sdkPackage) function(fn *ast.FuncDecl) error {
	if fn.Recv != nil {
		return nil
	}
	if tok, ok := tokenOf(fn, "RegisterResource"); ok {
		return p.resource(tok, strings.TrimPrefix(fn.Name.Name, "New"), fn)
	}
	if tok, ok := tokenOf(fn, "Invoke"); ok {
		p.facts[tok] = "function"
		if err := p.properties(tok+" inputs", fn.Name.Name+"Args", true); err != nil {
			return err
		}
		return p.properties(tok+" outputs", fn.Name.Name+"Result", false)
	}
	return nil
}

var requiredArgument = regexp.MustCompile(`^invalid value for required argument '(\w+)'$`)

func (p sdkPackage) resource(tok, name string, constructor *ast.FuncDecl) error {
	p.facts[tok] = "resource"
	args := p.private(name + "Args")
	if err := p.properties(tok+" inputs", args, false); err != nil {
		return err
	}
	if !strings.HasPrefix(tok, "pulumi:providers:") {
		if err := p.properties(tok+" outputs", name, false); err != nil {
			return err
		}
	}
	names := p.propertyNames(args)
	ast.Inspect(constructor, func(node ast.Node) bool {
		if text, ok := stringLiteral(node); ok {
			if match := requiredArgument.FindStringSubmatch(text); match != nil {
				p.facts[tok+" required."+names[match[1]]] = "yes"
			}
		}
		if call, ok := node.(*ast.CallExpr); ok && calls(call, "AdditionalSecretOutputs") {
			for _, output := range stringLiterals(call) {
				p.facts[tok+" secret."+output] = "yes"
			}
		}
		return true
	})
	return nil
}

// private returns the struct of plain values that belongs to an exported struct of inputs: "vmArgs" for "VMArgs".
func (p sdkPackage) private(exported string) string {
	for name := range p.named {
		if name != exported && strings.EqualFold(name, exported) {
			return name
		}
	}
	return exported
}

// tokenOf returns the first argument of a function's call of a method, if it is a string.
func tokenOf(fn *ast.FuncDecl, method string) (string, bool) {
	var found string
	ast.Inspect(fn, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && calls(call, method) && len(call.Args) > 0 {
			if text, ok := stringLiteral(call.Args[0]); ok {
				found = text
			}
		}
		return found == ""
	})
	return found, found != ""
}

func calls(call *ast.CallExpr, method string) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == method
}

func stringLiterals(root ast.Node) []string {
	var texts []string
	ast.Inspect(root, func(node ast.Node) bool {
		if text, ok := stringLiteral(node); ok {
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

func stringLiteral(node ast.Node) (string, bool) {
	literal, ok := node.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
