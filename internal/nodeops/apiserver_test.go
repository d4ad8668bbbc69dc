package nodeops_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// apiServer is the part of an API server that a drain uses: Nodes, their pods, evictions.
type apiServer struct {
	mu    sync.Mutex
	nodes []*node
	pods  []*pod
	// allows returns the status of an eviction, by the pod's name and the number of attempts.
	allows func(pod string, tries int) (code int)
	tries  map[string]int
	// fails returns the status of any other request, by its path and the number of attempts; zero for no answer. Default: nil, none fails.
	fails func(path string, tries int) (code int)
	asked map[string]int // by path
}

// node holds the fake's fields of a Node.
type node struct {
	Metadata struct {
		Name        string         `json:"name"`
		Annotations map[string]any `json:"annotations,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Unschedulable any `json:"unschedulable,omitempty"`
	} `json:"spec"`
}

// pod holds the fake's fields of a Pod.
type pod struct {
	Metadata podMetadata `json:"metadata"`
	Status   podStatus   `json:"status"`
}

type podMetadata struct {
	Namespace         string            `json:"namespace"`
	Name              string            `json:"name"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	DeletionTimestamp string            `json:"deletionTimestamp,omitempty"`
	OwnerReferences   []owner           `json:"ownerReferences,omitempty"`
}

type owner struct {
	Kind       string `json:"kind"`
	Controller bool   `json:"controller"`
}

type podStatus struct {
	Phase string `json:"phase,omitempty"`
}

func newNode(name string) *node {
	n := &node{}
	n.Metadata.Name = name
	return n
}

// newPod returns a pod of a ReplicaSet in the namespace shop.
func newPod(name string, change ...func(*pod)) *pod {
	p := &pod{Metadata: podMetadata{Namespace: "shop", Name: name, OwnerReferences: []owner{{Kind: "ReplicaSet", Controller: true}}}}
	for _, c := range change {
		c(p)
	}
	return p
}

// client returns a client of the fake without a network.
func (s *apiServer) client() *nodeops.Kubernetes {
	s.tries, s.asked = map[string]int{}, map[string]int{}
	return nodeops.KubernetesOf(&http.Client{Transport: s})
}

// RoundTrip implements [http.RoundTripper].
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil && r.Method != http.MethodPost {
		s.asked[r.URL.Path]++
		switch code := s.fails(r.URL.Path, s.asked[r.URL.Path]); code {
		case http.StatusOK:
		case 0:
			return nil, errors.New("no answer")
		default:
			say(recorder, code, map[string]string{"message": "etcdserver: leader changed"})
			return recorder.Result(), nil
		}
	}
	s.answer(recorder, r)
	return recorder.Result(), nil
}

func (s *apiServer) answer(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	switch {
	case len(path) == 1 && path[0] == "nodes":
		say(w, http.StatusOK, map[string]any{"items": s.nodes})
	case path[0] == "nodes":
		s.node(w, r, path[1])
	case len(path) == 1 && path[0] == "pods":
		say(w, http.StatusOK, map[string]any{"items": s.pods})
	case len(path) == 5 && path[4] == "eviction":
		s.tries[path[3]]++
		if code := s.allows(path[3], s.tries[path[3]]); code != http.StatusCreated {
			say(w, code, map[string]string{"message": "Cannot evict pod as it would violate the pod's disruption budget."})
			return
		}
		s.remove(path[3])
		say(w, http.StatusCreated, nil)
	case len(path) == 4 && r.Method == http.MethodDelete:
		s.remove(path[3])
		say(w, http.StatusOK, nil)
	default:
		say(w, http.StatusNotFound, nil)
	}
}

func (s *apiServer) node(w http.ResponseWriter, r *http.Request, name string) {
	i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.Metadata.Name == name })
	if i < 0 {
		say(w, http.StatusNotFound, nil)
		return
	}
	if r.Method == http.MethodPatch {
		// A merge patch: null removes a field.
		if r.Header.Get("Content-Type") != "application/merge-patch+json" || json.NewDecoder(r.Body).Decode(s.nodes[i]) != nil {
			say(w, http.StatusUnsupportedMediaType, nil)
			return
		}
		for key, value := range s.nodes[i].Metadata.Annotations {
			if value == nil {
				delete(s.nodes[i].Metadata.Annotations, key)
			}
		}
	}
	say(w, http.StatusOK, s.nodes[i])
}

func (s *apiServer) remove(name string) {
	s.pods = slices.DeleteFunc(s.pods, func(p *pod) bool { return p.Metadata.Name == name })
}

// left returns the names of the remaining pods.
func (s *apiServer) left() []string {
	names := []string{}
	for _, p := range s.pods {
		names = append(names, p.Metadata.Name)
	}
	return names
}

func say(w http.ResponseWriter, code int, body any) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // into a recorder
}

// Answers to evictions.
func always(string, int) int   { return http.StatusCreated }
func heldBack(string, int) int { return http.StatusTooManyRequests }
