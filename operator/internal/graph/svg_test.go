package graph_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"regexp"
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

func TestSVG(t *testing.T) {
	t.Parallel()
	for name, cluster := range clusters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Equal(t, filepath.Join("testdata", name+".svg"), string(graph.SVG(cluster)))
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

// TestTextFitsItsBox: no line of a card leaves the card, nothing leaves the picture, and no two cards overlap.
func TestTextFitsItsBox(t *testing.T) {
	t.Parallel()
	const widest = 0.61 * 13 // of a monospaced font, per character
	for name, cluster := range clusters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := shapes(t, graph.SVG(cluster))
			whole := all[0]
			var card shape
			var cards []shape
			for _, s := range all {
				switch {
				case s.element == "rect" && s.class == "card":
					card = s
					for _, other := range cards {
						apart := card.x >= other.x+other.width || other.x >= card.x+card.width || card.y >= other.y+other.height || other.y >= card.y+card.height
						require.True(t, apart, "cards overlap")
					}
					cards = append(cards, card)
				case s.element == "text" && s.class != "title":
					right := float64(s.x) + float64(utf8.RuneCountInString(s.text))*widest
					require.LessOrEqual(t, right, float64(whole.width), s.text)
					if inside := s.x > card.x && s.x < card.x+card.width && s.y > card.y && s.y < card.y+card.height; inside {
						require.LessOrEqual(t, right, float64(card.x+card.width-8), s.text)
					}
				}
				require.LessOrEqual(t, s.x+s.width, whole.width)
				require.LessOrEqual(t, s.y+s.height, whole.height)
			}
			nodes := 0
			for _, host := range cluster.Hosts {
				nodes += len(host.Nodes)
			}
			require.Len(t, cards, nodes)
		})
	}
}

// TestEveryShapeHasItsColours: without a fill attribute, renderers without CSS, media queries or variables would paint a shape
// black.
func TestEveryShapeHasItsColours(t *testing.T) {
	t.Parallel()
	for name, cluster := range clusters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drawn := string(graph.SVG(cluster))
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
