package recoverykit

import (
	_ "embed"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md
var pageText string

var page = template.Must(template.New(Page).Funcs(template.FuncMap{
	"minute": func(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") },
}).Parse(pageText))

// PageOf returns the page of instructions in a kit, for a person who never saw the project.
func PageOf(of Description) []byte {
	var text strings.Builder
	if err := page.Execute(&text, of); err != nil {
		panic(err) // the template is constant, and a test executes each of its branches
	}
	return []byte(text.String())
}
