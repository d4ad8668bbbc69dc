package pipeline

import (
	"bytes"
	"embed"
	"strings"
	"text/template"

	"github.com/em-infra/em-infra/internal/forge"
)

// Pipeline describes the pipeline of a stack.
type Pipeline struct {
	// Forge is where it runs. Required.
	Forge forge.Kind
	// Stack is the name of the stack. Required.
	Stack string
	// Runner is the label, on GitLab the tag, of the runner in the management network, which reaches Proxmox VE and the nodes. Required.
	Runner string
	// Branch is the branch that up follows. Required.
	Branch string
}

//go:embed templates
var templates embed.FS

// The delimiters of the templates: the forges use braces themselves.
const left, right = "[[", "]]"

// Path returns the file of the pipeline, relative to the project.
func (p Pipeline) Path() string {
	switch p.Forge {
	case forge.GitLab:
		return ".gitlab/em-infra-" + p.Stack + ".yml"
	case forge.Forgejo:
		return ".forgejo/workflows/em-infra-" + p.Stack + ".yml"
	default:
		return ".github/workflows/em-infra-" + p.Stack + ".yml"
	}
}

// Action returns the reference of an action of GitHub, which Forgejo keeps copies of.
func (p Pipeline) Action(name string) string {
	if p.Forge == forge.Forgejo {
		return "https://data.forgejo.org/actions/" + name
	}
	return "actions/" + name
}

// IsGitLab reports whether the pipeline is one of GitLab.
func (p Pipeline) IsGitLab() bool { return p.Forge == forge.GitLab }

// Show returns the command that shows a file to the readers of the job, on GitHub and Forgejo also on the page of the run.
func (p Pipeline) Show(file string) string {
	if p.IsGitLab() {
		return "cat " + file
	}
	return `tee -a "$GITHUB_STEP_SUMMARY" < ` + file
}

// Shell returns a script of the templates, indented for YAML.
func (p Pipeline) Shell(name string, indent int) (string, error) {
	text, err := p.execute(name + ".sh")
	if err != nil {
		return "", err
	}
	margin := strings.Repeat(" ", indent)
	return margin + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+margin), nil
}

// Text returns the pipeline without the line that [Pipeline.Write] puts before it.
func (p Pipeline) Text() (string, error) {
	return p.execute(string(p.Forge) + ".yml")
}

func (p Pipeline) execute(name string) (string, error) {
	parsed, err := template.New("").Delims(left, right).ParseFS(templates, "templates/*")
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = parsed.ExecuteTemplate(&text, name, p)
	return text.String(), err
}
