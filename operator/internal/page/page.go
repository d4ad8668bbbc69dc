// Package page writes what is known about a stack, or about all of a site, as one HTML file: it needs no network, no script and no other file, follows the
// reader's choice of light or dark, and fits a phone.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// Page is what is known about a stack.
type Page struct {
	// Stack is the name of the stack.
	Stack string
	// Kind is what the stack brings up; empty if it is not known, and then the page is that of a cluster.
	Kind manifest.Kind
	// Cluster is the name of the cluster; empty if it is not known, or if the stack is none.
	Cluster string
	// Rehearsed reports whether the stack is on the emulated host.
	Rehearsed bool
	// Written is when the page is written.
	Written time.Time
	// Picture is the stack as an SVG; nil for none.
	Picture []byte
	// Status is the status of the stack; nil if it was not asked for.
	Status *status.Report
	// Drift is what differs from the inventory; nil if it was not asked for.
	Drift *drift.Report
	// Copies are the copies of etcd and of the state, newest first.
	Copies []Copy
	// Runs are the runs to show, newest first.
	Runs []artifacts.Past
	// Nodes are the names of the nodes, or of the systems, as their resources have them, in the order of the inventory.
	Nodes []string
}

// Copy is a copy of something of the stack.
type Copy struct {
	// Kind is what was copied, such as etcd.
	Kind string
	// Name of the copy.
	Name string
	// Taken is when.
	Taken time.Time
	// Place is where it is stored.
	Place string
}

var (
	//go:embed parts.html
	parts string
	//go:embed page.html
	source string
	//go:embed site.html
	siteSource string
	//go:embed page.css
	sheet string

	layout     = parsed("page", source)
	siteLayout = parsed("site", siteSource)
	escaped    = template.Must(template.New("escaped").Parse("{{.}}"))
)

// parsed returns the template of a page with the parts that all pages have.
func parsed(name, source string) *template.Template {
	functions := template.FuncMap{"time": shown, "seconds": spell, "took": took, "prose": prose}
	return template.Must(template.Must(template.New(name).Funcs(functions).Parse(source)).Parse(parts))
}

// HTML returns the page without the secrets. It is the last of several gates: nothing of what it is made from should contain one.
func (p Page) HTML(secrets []string) ([]byte, error) {
	return written(layout, secrets, func(redactor *artifacts.Redactor) any {
		return view{Page: p, look: lookOf(p.Picture, redactor)}
	})
}

// written fills a template in, and removes the secrets from what comes of it.
func written(layout *template.Template, secrets []string, view func(*artifacts.Redactor) any) ([]byte, error) {
	var text bytes.Buffer
	redactor := artifacts.NewRedactor(append(inHTML(secrets), secrets...))
	if err := layout.Execute(&text, view(redactor)); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return redactor.Redact(text.Bytes()), nil
}

// inHTML returns the secrets as the page writes texts: html/template escapes more characters than the function of the same package.
func inHTML(secrets []string) []string {
	var written []string
	for _, secret := range secrets {
		written = append(written, template.HTMLEscapeString(secret))
		var text strings.Builder
		if err := escaped.Execute(&text, secret); err == nil { // writing a string to memory does not fail
			written = append(written, text.String())
		}
	}
	return written
}

// view is what the template reads.
type view struct {
	Page
	look
}

// look is what both pages have in common.
type look struct {
	redactor *artifacts.Redactor

	Style   template.CSS
	Drawing template.HTML
}

func lookOf(picture []byte, redactor *artifacts.Redactor) look {
	return look{redactor: redactor, Style: template.CSS(sheet), Drawing: template.HTML(picture)} //nolint:gosec // both are our own
}

func (l look) hide(text string) string { return string(l.redactor.Redact([]byte(text))) }

// IsCluster reports whether the page is about a cluster.
func (v view) IsCluster() bool { return v.Kind != manifest.Hosts && v.Kind != manifest.Systems }

// Pictured is what the picture shows.
func (v view) Pictured() string {
	if v.IsCluster() {
		return "Cluster"
	}
	return "Picture"
}

// Undiffered returns the sentence that nothing differs from the inventory.
func (v view) Undiffered() string {
	switch v.Kind {
	case manifest.Hosts:
		return "the hosts are as the inventory says"
	case manifest.Systems:
		return "the systems are as the inventory says"
	default:
		return "the host and the nodes are as the inventory says"
	}
}

// Title is the name of the page.
func (v view) Title() string {
	if v.Cluster == "" || v.Cluster == v.Stack {
		return v.Stack
	}
	return v.Cluster + " (" + v.Stack + ")"
}

// Facts are what the status says below its tables.
func (v view) Facts() []status.Line { return v.Status.Facts(v.hide) }

// Findings are the problems, each with what to do.
func (v view) Findings() []status.Line { return v.Status.Findings(v.hide) }

// Verdict returns in a few words whether something needs attention.
func (v view) Verdict() string {
	switch lacks := len(v.Status.Lacks()); {
	case lacks == 1:
		return "1 thing needs attention"
	case lacks > 0:
		return fmt.Sprintf("%d things need attention", lacks)
	case v.Drift != nil && v.Drift.Found():
		return "sound, and not as the inventory says"
	case v.Drift != nil && len(v.Drift.Unread) > 0:
		return "sound, not everything was compared"
	default:
		return "sound"
	}
}

// Timelines are the runs with operations.
func (v view) Timelines() []Timeline {
	var found []Timeline
	for _, run := range v.Runs {
		if run.Summary != nil && len(run.Summary.Resources) > 0 && (run.Name.Kind != "preview" || len(v.Runs) == 1) {
			found = append(found, NewTimeline(run, v.Kind, v.Nodes))
		}
		if len(found) == shownRuns {
			break
		}
	}
	return found
}

// shownRuns is the number of runs whose operations are shown.
const shownRuns = 5

// Differences are all differences.
func (v view) Differences() []drift.Difference {
	return append(v.Drift.Host[:len(v.Drift.Host):len(v.Drift.Host)], v.Drift.Nodes...)
}
