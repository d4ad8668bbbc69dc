package graph

import (
	"fmt"
	"strings"
)

// fonts begins with a name that every fontconfig knows, since renderers without CSS use only the first one.
const fonts = "DejaVu Sans Mono, ui-monospace, Menlo, Consolas, monospace"

// tone is a colour for light and dark mode. Both have a contrast of at least 4.5 between text and background.
type tone struct{ light, dark string }

var (
	noTone  = tone{"none", "none"}
	ground  = tone{"#ffffff", "#14181f"}
	surface = tone{"#f2f4f7", "#1c222c"}
	raised  = tone{"#ffffff", "#262e3a"}
	edge    = tone{"#c4cbd6", "#3b4656"}
	text    = tone{"#1b2430", "#e8ecf2"}
	muted   = tone{"#56606f", "#a3aebd"}
	blue    = tone{"#2f5fd0", "#7ea6ff"}
	teal    = tone{"#17806d", "#4fc3a8"}
	brown   = tone{"#a2541c", "#f0a064"}
	green   = tone{"#1f9d55", "#4ade80"}
	red     = tone{"#d33f3f", "#ff7b7b"}
	indigo  = tone{"#4b5a86", "#a9b8e6"}
	gold    = tone{"#7d6100", "#d9bb4c"}
	violet  = tone{"#7a3fb8", "#c79bff"}
	rose    = tone{"#b02a6b", "#ff8fc4"}
	olive   = tone{"#5a6900", "#b5c94a"}
	cyan    = tone{"#0b6e8a", "#5cc8e6"}
)

// style is the style of a class of shapes.
type style struct {
	class        string
	fill, stroke tone
	more         string // presentation attributes that are the same in dark mode
}

// ofACluster is how the frame of a cluster differs from others beside its colour.
const ofACluster = `stroke-width="2"`

var styles = []style{
	{class: "title", fill: text, more: fmt.Sprintf(`font-size="%d" font-weight="600"`, titleSize)},
	{class: "name", fill: text, more: `font-weight="600"`},
	{class: "muted", fill: muted},
	{class: "ground", fill: ground},
	{class: "host", fill: surface, stroke: edge},
	{class: "card", fill: raised, stroke: edge},
	{class: "frame", fill: noTone, stroke: edge},
	{class: "violet", fill: noTone, stroke: violet, more: ofACluster},
	{class: "rose", fill: noTone, stroke: rose, more: ofACluster},
	{class: "olive", fill: noTone, stroke: olive, more: ofACluster},
	{class: "cyan", fill: noTone, stroke: cyan, more: ofACluster},
	{class: "control", fill: blue},
	{class: "worker", fill: teal},
	{class: "gpu", fill: brown},
	{class: "machine", fill: indigo},
	{class: "container", fill: gold},
	{class: "healthy", fill: green},
	{class: "unhealthy", fill: red},
	{class: "unknown", fill: noTone, stroke: muted},
}

// attributes are the presentation attributes of each class, for renderers without full support of CSS
// (https://www.w3.org/TR/SVG2/styling.html#PresentationAttributes).
var attributes = func() map[string]string {
	byClass := make(map[string]string, len(styles))
	for _, s := range styles {
		parts := []string{fmt.Sprintf(`class="%s" fill="%s"`, s.class, s.fill.light)}
		if s.stroke != (tone{}) {
			parts = append(parts, fmt.Sprintf(`stroke="%s"`, s.stroke.light))
		}
		if s.more != "" {
			parts = append(parts, s.more)
		}
		byClass[s.class] = strings.Join(parts, " ")
	}
	return byClass
}()

// dark returns the style sheet for dark mode of the classes that are used: CSS rules take precedence over presentation attributes.
func dark(used map[string]bool) string {
	var rules strings.Builder
	rules.WriteString("@media (prefers-color-scheme: dark) {\n")
	for _, s := range styles {
		if !used[s.class] {
			continue
		}
		fmt.Fprintf(&rules, "  .%s { fill: %s;", s.class, s.fill.dark)
		if s.stroke != (tone{}) {
			fmt.Fprintf(&rules, " stroke: %s;", s.stroke.dark)
		}
		rules.WriteString(" }\n")
	}
	rules.WriteString("}")
	return rules.String()
}
