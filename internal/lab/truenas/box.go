package truenas

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/lab/fault"
)

// Release is the release of TrueNAS that is emulated.
const Release = "25.10.6"

// versions are what `GET /api/versions` answers (main.py, api_versions_handler; the folders of middlewared/api).
var versions = []string{
	"v24.10", "v25.04.0", "v25.04.1", "v25.04.2", "v25.10.0", "v25.10.1", "v25.10.2", "v25.10.3", "v25.10.4", "v25.10.5",
}

// Config is what a box is made of.
type Config struct {
	// Pools are the pools of the box. An existing state keeps its pools and gets the new ones. Required.
	Pools []Pool
	// Addresses of its interfaces, which a portal can listen on. Required.
	Addresses []string
	// ISCSIBase is the beginning of the names of its iSCSI targets. Default: empty, what its state has, or iqn.2005-10.org.freenas.ctl.
	ISCSIBase string
	// User is the account that can log in from the beginning, with Key as its API key and Roles as its privilege. Required.
	User, Key string
	// Roles of that user, e.g. FULL_ADMIN. Required.
	Roles []string
	// Faults are the faults that are set. The set is made of [Faults]. Default: nil, none.
	Faults *fault.Set
	// StateFile keeps the state. Default: empty, it is not kept.
	StateFile string
	// Log receives a line of JSON for each call, without its parameters. Default: nil, none.
	Log io.Writer
	// Now is the time. Default: nil, time.Now.
	Now func() time.Time
	// Sleep waits where the box delays an answer. Default: nil, time.Sleep.
	Sleep func(time.Duration)
	// Scaled returns the lab's duration for that of a real box. Default: nil, the same.
	Scaled func(time.Duration) time.Duration
}

// Pool is a ZFS pool.
type Pool struct {
	// Name of the pool.
	Name string `json:"name"`
	// Size in bytes.
	Size int64 `json:"size"`
}

// Box is an emulated TrueNAS. It is safe for concurrent use.
type Box struct {
	config   Config
	methods  map[string]method
	upgrader websocket.Upgrader
	limits   rateLimit

	mu          sync.Mutex
	state       state
	jobs        []*job
	connections map[*connection]bool
}

// state is what a box keeps.
type state struct {
	Pools    []Pool     `json:"pools"`
	Datasets []*dataset `json:"datasets"`
	// Rows are the objects of each service with numbers as IDs, by its namespace.
	Rows map[string][]entry `json:"rows"`
	// Next is the next ID in each namespace.
	Next map[string]int64 `json:"next"`
	// Keys are the secrets of API keys, by their IDs in decimal.
	Keys map[string]string `json:"keys"`
	// Services are their settings by name.
	Services map[string]*service `json:"services"`
	// Global are the settings of iSCSI.
	Global entry `json:"global"`
	// NFS are the settings of the NFS service.
	NFS entry `json:"nfs"`
}

// New opens a box: its state, or that of a new installation.
func New(config Config) (*Box, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Sleep == nil {
		config.Sleep = time.Sleep
	}
	if config.Scaled == nil {
		config.Scaled = func(d time.Duration) time.Duration { return d }
	}
	b := &Box{config: config, connections: map[*connection]bool{}}
	b.limits = rateLimit{now: config.Now, period: config.Scaled(loginPeriod)}
	b.methods = b.table()
	err := b.load()
	if errors.Is(err, fs.ErrNotExist) {
		b.install()
		b.nameTargets()
		return b, b.save()
	}
	if err == nil {
		b.addPools()
		b.nameTargets()
	}
	return b, err
}

// Addressed changes the addresses of the interfaces, like a change of the box's network.
func (b *Box) Addressed(addresses []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config.Addresses = addresses
}

func (b *Box) load() error {
	if b.config.StateFile == "" {
		return fs.ErrNotExist
	}
	encoded, err := os.ReadFile(b.config.StateFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(encoded, &b.state); err != nil {
		return fmt.Errorf("%s is damaged: %w", b.config.StateFile, err)
	}
	return nil
}

func (b *Box) save() error {
	if b.config.StateFile == "" {
		return nil
	}
	encoded, err := json.Marshal(b.state)
	if err != nil {
		return err
	}
	return atomicfile.Write(b.config.StateFile, encoded, 0o600)
}

// install makes the state of a new installation: root datasets, services that are off, and the first user.
func (b *Box) install() {
	b.state = state{
		Pools: b.config.Pools, Rows: map[string][]entry{}, Next: map[string]int64{}, Keys: map[string]string{},
		Services: map[string]*service{},
		Global: entry{
			"id": 1, "basename": "iqn.2005-10.org.freenas.ctl", "isns_servers": []any{}, "listen_port": 3260,
			"pool_avail_threshold": nil, "alua": false, "iser": false,
		},
		NFS: entry{"id": 1, "protocols": []any{"NFSV3", "NFSV4"}},
	}
	for _, pool := range b.state.Pools {
		b.addRoot(pool)
	}
	for at, name := range serviceNames {
		b.state.Services[name] = &service{ID: at + 1}
	}
	b.addAdministrator()
}

// addPools adds the pools that the configuration has got since the state was made.
func (b *Box) addPools() {
	for _, pool := range b.config.Pools {
		if b.dataset(pool.Name) == nil {
			b.state.Pools = append(b.state.Pools, pool)
			b.addRoot(pool)
		}
	}
}

// nameTargets sets the beginning of the names of targets that the configuration has.
func (b *Box) nameTargets() {
	if b.config.ISCSIBase != "" {
		b.state.Global["basename"] = b.config.ISCSIBase
	}
}

func (b *Box) addRoot(pool Pool) {
	b.state.Datasets = append(b.state.Datasets, &dataset{Name: pool.Name, Type: filesystem, Local: ofNewPool()})
}

// ServeHTTP serves the API: the list of versions, and WebSockets (main.py, WebSocketHandler).
func (b *Box) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.fails(faultOff, "") {
		panic(http.ErrAbortHandler) // net/http closes the connection without an answer
	}
	if b.fails(faultOnlyREST, "") {
		onlyREST(w, r)
		return
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/api/versions":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(encoded(versions))) // the client may be gone
	case isEndpoint(r.URL.Path):
		socket, err := b.upgrader.Upgrade(w, r, nil)
		if err != nil {
			return // the upgrader has answered
		}
		b.serve(newConnection(b, socket, r.RemoteAddr, r.TLS != nil))
	default:
		http.NotFound(w, r)
	}
}

// isEndpoint reports whether a path is that of the API in one of its versions.
func isEndpoint(path string) bool {
	if path == "/api/current" {
		return true
	}
	for _, version := range versions {
		if path == "/api/"+version {
			return true
		}
	}
	return false
}

// onlyREST answers as a release without JSON-RPC: 24.04 has REST, and DDP at /websocket.
func onlyREST(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v2.0/" || r.URL.Path == "/api/v2.0" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	http.NotFound(w, r)
}

// Close ends all connections and saves the state.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.connections {
		_ = c.socket.Close() // it may be closed
	}
	return b.save()
}
