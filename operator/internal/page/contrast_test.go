package page_test

import (
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// luminance is the relative luminance of a colour (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance).
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	require.Regexp(t, `^#[0-9a-f]{6}$`, color)
	value, err := strconv.ParseUint(color[1:], 16, 32)
	require.NoError(t, err)
	linear := func(eight uint64) float64 {
		c := float64(eight&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(value>>16) + 0.7152*linear(value>>8) + 0.0722*linear(value)
}

// contrast is the contrast ratio of two colours (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
func contrast(t *testing.T, one, other string) float64 {
	t.Helper()
	a, b := luminance(t, one), luminance(t, other)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// TestContrast computes the contrasts of all colours of the page: 4.5 for texts (WCAG 1.4.3) and 3 for bars (1.4.11), on each ground on
// which they can be.
func TestContrast(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 21, contrast(t, "#000000", "#ffffff"), 1e-9)
	require.InDelta(t, 4.54, contrast(t, "#767676", "#ffffff"), 0.005) // the example of WebAIM's checker

	text, err := os.ReadFile("page.css")
	require.NoError(t, err)
	sheet := string(text)
	light, dark, rest := palettes(t, sheet)
	require.Equal(t, slices.Sorted(maps.Keys(light)), slices.Sorted(maps.Keys(dark)), "each colour has one for each scheme")
	require.NotRegexp(t, `#[0-9a-fA-F]{3,8}\b|rgb|hsl|opacity`, rest, "colours are named")

	texts := used(rest, `[{; ]color: var\(--([a-z]+)\)`)
	grounds := used(rest, `(?m)^(?:body|\.chip|\.findings|tr|\.track)[^{]*\{[^}]*background: var\(--([a-z]+)\)`)
	bars := used(rest, `(?m)^i\.[^{]*\{ background: var\(--([a-z]+)\)`)
	require.Equal(t, []string{"bad", "good", "muted", "text"}, texts)
	require.Equal(t, []string{"ground", "surface"}, grounds)
	require.Equal(t, []string{"addons", "bootstrap", "failed", "generate", "provision"}, bars)
	for scheme, palette := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, ground := range grounds {
			for _, name := range texts {
				require.GreaterOrEqual(t, contrast(t, palette[name], palette[ground]), 4.5, "%s on %s, %s", name, ground, scheme)
			}
			for _, name := range bars {
				require.GreaterOrEqual(t, contrast(t, palette[name], palette[ground]), 3.0, "%s on %s, %s", name, ground, scheme)
			}
		}
	}
}

// palettes returns the colours of both schemes by name, and the sheet without them.
func palettes(t *testing.T, sheet string) (light, dark map[string]string, rest string) {
	t.Helper()
	block := regexp.MustCompile(`:root \{([^}]*)\}`)
	found := block.FindAllStringSubmatch(sheet, -1)
	require.Len(t, found, 2)
	read := func(block string) map[string]string {
		colors := map[string]string{}
		for _, one := range regexp.MustCompile(`--([a-z]+): ([^;]+);`).FindAllStringSubmatch(block, -1) {
			colors[one[1]] = one[2]
		}
		return colors
	}
	return read(found[0][1]), read(found[1][1]), strings.TrimSpace(block.ReplaceAllString(sheet, ""))
}

// used returns the names that a form finds, sorted, each once.
func used(sheet, form string) []string {
	var names []string
	for _, one := range regexp.MustCompile(form).FindAllStringSubmatch(sheet, -1) {
		names = append(names, one[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}
