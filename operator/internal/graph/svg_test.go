package graph_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/operator/internal/graph"
)

func node(name string, role graph.Role, vmid int, health graph.Health) graph.Node {
	return graph.Node{
		Name: name, Role: role, VMID: vmid, Addresses: []netip.Addr{netip.MustParseAddr(fmt.Sprintf("192.168.20.%d", vmid-90))},
		Cores: 4, MemoryMiB: 8192, DiskGiB: 64, Health: health,
	}
}

func clusters() map[string]graph.Cluster {
	base := graph.Cluster{Name: "k3s-dev", Endpoint: "https://192.168.20.10:6443", Versions: []string{"Talos v1.12.4", "Kubernetes v1.35.4"}}
	single, ha, many := base, base, base
	single.Hosts = []graph.Host{{Name: "vmhost", Nodes: []graph.Node{
		node("k3s-dev-control-1", graph.ControlPlane, 101, graph.Unknown), node("k3s-dev-worker-1", graph.Worker, 102, graph.Unknown),
	}}}

	gpu := node("a-gpu-worker-with-quite-a-long-name-for-a-machine", graph.GPUWorker, 113, graph.Unhealthy)
	gpu.GPUs = []string{"mapping rtx3090", "0000:01:00.0 (10de:2204)"}
	gpu.Addresses = append(gpu.Addresses, netip.MustParseAddr("fd00:20::21"))
	gpu.MemoryMiB = 30000
	ha.Name = `<"three" & more>`
	ha.Hosts = []graph.Host{
		{Name: "pve1", Nodes: []graph.Node{node("cp-1", graph.ControlPlane, 101, graph.Healthy), node("w-1", graph.Worker, 111, graph.Healthy)}},
		{Name: "pve2", Nodes: []graph.Node{node("cp-2", graph.ControlPlane, 102, graph.Healthy)}},
		{Name: "pve3", Nodes: []graph.Node{node("cp-3", graph.ControlPlane, 103, graph.Unhealthy), gpu}},
	}

	for host := range 5 {
		h := graph.Host{Name: fmt.Sprintf("pve%d", host+1)}
		for i := range 3 + host*2 {
			h.Nodes = append(h.Nodes, node(fmt.Sprintf("w-%d-%d", host, i), graph.Worker, 100+host*20+i, graph.Unknown))
		}
		many.Hosts = append(many.Hosts, h)
	}

	alone, forty := base, base
	alone.Hosts = []graph.Host{{Name: "vmhost", Nodes: single.Hosts[0].Nodes[:1]}}
	crowd := graph.Host{Name: "vmhost"}
	for i := range 40 {
		crowd.Nodes = append(crowd.Nodes, node(fmt.Sprintf("w-%d", i), graph.Worker, 100+i, graph.Healthy))
	}
	forty.Hosts = []graph.Host{crowd}
	return map[string]graph.Cluster{"alone": alone, "single": single, "three-hosts": ha, "many": many, "forty": forty}
}

// pictures are all pictures of the tests by name.
func pictures() map[string]graph.Drawn {
	all := map[string]graph.Drawn{}
	for name, cluster := range clusters() {
		all[name] = cluster
	}
	maps.Copy(all, sites())
	return all
}

func TestSVG(t *testing.T) {
	t.Parallel()
	for name, drawn := range pictures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Equal(t, filepath.Join("testdata", name+".svg"), string(graph.SVG(drawn)))
		})
	}
}

// shape is an element of a picture with its position.
type shape struct {
	element, class      string
	x, y, width, height int
	text                string
}

// shapes parses a picture, which also checks that it can be parsed.
func shapes(t *testing.T, svg []byte) []shape {
	t.Helper()
	var found []shape
	decoder := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			s := shape{element: token.Name.Local}
			for _, a := range token.Attr {
				number, _ := strconv.Atoi(a.Value) // attributes that are not numbers are not positions
				switch a.Name.Local {
				case "class":
					s.class = a.Value
				case "x":
					s.x = number
				case "y":
					s.y = number
				case "width":
					s.width = number
				case "height":
					s.height = number
				}
			}
			found = append(found, s)
		case xml.CharData:
			if len(found) > 0 && found[len(found)-1].element == "text" {
				found[len(found)-1].text += strings.TrimSpace(string(token))
			}
		}
	}
}

// boxes is the number of hosts, frames and cards that a picture has to have.
type boxes struct{ hosts, frames, cards int }

func expected() map[string]boxes {
	return map[string]boxes{
		"alone": {1, 0, 1}, "single": {1, 0, 2}, "three-hosts": {3, 0, 5}, "many": {5, 0, 35}, "forty": {1, 0, 40},
		"with-nas": {2, 1, 4}, "systems": {2, 0, 4}, "systems-asked": {2, 0, 4}, "hosts": {2, 4, 7}, "site": {6, 16, 25}, "site-asked": {1, 1, 3},
		"crowded-site": {1, 7, 103}, "site-of-hosts": {2, 4, 7},
	}
}

// isFrame reports whether a shape is the frame of a group.
func (s shape) isFrame() bool {
	return s.element == "rect" && s.width > 11 && slices.Contains([]string{"frame", "violet", "rose", "olive", "cyan"}, s.class)
}

func (s shape) contains(other shape) bool {
	return s.x <= other.x && s.y <= other.y && other.x+other.width <= s.x+s.width && other.y+other.height <= s.y+s.height
}

func (s shape) isApartFrom(other shape) bool {
	return s.x >= other.x+other.width || other.x >= s.x+s.width || s.y >= other.y+other.height || other.y >= s.y+s.height
}

// TestBoxesDoNotOverlap: each card lies in a host and in the frame of its group, if that has one, each frame in a host, and none of a kind
// overlap.
func TestBoxesDoNotOverlap(t *testing.T) {
	t.Parallel()
	for name, drawn := range pictures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hosts, frames, cards []shape
			for _, s := range shapes(t, graph.SVG(drawn)) {
				switch {
				case s.element == "rect" && s.class == "host":
					hosts = append(hosts, s)
				case s.isFrame():
					frames = append(frames, s)
					require.True(t, hosts[len(hosts)-1].contains(s), "a frame in its host")
				case s.element == "rect" && s.class == "card":
					cards = append(cards, s)
					require.True(t, hosts[len(hosts)-1].contains(s), "a card in its host")
					require.True(t, len(frames) == 0 || frames[len(frames)-1].contains(s) || !hosts[len(hosts)-1].contains(frames[len(frames)-1]), "a card in its frame")
				}
			}
			for _, kind := range [][]shape{hosts, frames, cards} {
				for at, one := range kind {
					for _, other := range kind[:at] {
						require.True(t, one.isApartFrom(other), "%+v and %+v", one, other)
					}
				}
			}
			require.Equal(t, expected()[name], boxes{len(hosts), len(frames), len(cards)})
		})
	}
}

// TestTextFitsItsBox: no line leaves its card, frame or host, no two of the same line of text overlap, and nothing leaves the picture.
func TestTextFitsItsBox(t *testing.T) {
	t.Parallel()
	const widest = 0.61 * 13 // of a monospaced font, per character
	for name, drawn := range pictures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := shapes(t, graph.SVG(drawn))
			whole := all[0]
			ends := map[int]float64{} // of the texts by base line, within the innermost box
			var inside shape
			for _, s := range all {
				if s.element == "rect" && (s.class == "host" || s.class == "card" || s.isFrame()) {
					inside, ends = s, map[int]float64{}
				}
				if s.element == "text" && s.class != "title" {
					right := float64(s.x) + float64(utf8.RuneCountInString(s.text))*widest
					require.LessOrEqual(t, right, float64(whole.width), s.text)
					require.Less(t, s.y, whole.height, s.text)
					if s.x > inside.x && s.x < inside.x+inside.width && s.y > inside.y && s.y < inside.y+inside.height {
						require.LessOrEqual(t, right, float64(inside.x+inside.width-8), s.text)
					}
					require.Greater(t, float64(s.x), ends[s.y], s.text)
					ends[s.y] = right
				}
				require.LessOrEqual(t, s.x+s.width, whole.width)
				require.LessOrEqual(t, s.y+s.height, whole.height)
			}
		})
	}
}

// TestEveryShapeHasItsColours: without a fill attribute, renderers without CSS, media queries or variables would paint a shape
// black.
func TestEveryShapeHasItsColours(t *testing.T) {
	t.Parallel()
	for name, picture := range pictures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drawn := string(graph.SVG(picture))
			require.NotContains(t, drawn, "var(")
			shapes := regexp.MustCompile(`<(rect|circle|text) [^>]*>`).FindAllString(drawn, -1)
			require.NotEmpty(t, shapes)
			for _, shape := range shapes {
				require.Regexp(t, `^<[a-z]+ class="[a-z]+" fill="(#[0-9a-f]{6}|none)"`, shape)
			}
			for _, class := range regexp.MustCompile(`class="([a-z]+)"`).FindAllStringSubmatch(drawn, -1) {
				require.Contains(t, drawn, "  ."+class[1]+" { fill: ", "the colours by dark")
			}
		})
	}
}
