// Package factory emulates the Talos Image Factory: it accepts schematics, lists versions and extensions, and serves images.
// Size and name of an image are realistic, its bytes are random.
//
// Paths, statuses and texts are those of github.com/siderolabs/image-factory v0.6.9, internal/frontend/http.
package factory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/siderolabs/image-factory/pkg/client"
	"github.com/siderolabs/image-factory/pkg/schematic"
)

// Option configures a factory.
type Option func(*factory)

// WithStore keeps the schematics as files in a folder, so that they survive a restart, as in the real factory. The folder is
// made for the first schematic.
func WithStore(dir string) Option { return func(f *factory) { f.dir = dir } }

// New returns an Image Factory as an HTTP handler. It is safe for concurrent use.
func New(options ...Option) http.Handler {
	f := &factory{known: map[string]*schematic.Schematic{}}
	for _, option := range options {
		option(f)
	}

	mux := http.NewServeMux()
	mux.HandleFunc("POST /schematics", f.answer(f.createSchematic))
	mux.HandleFunc("GET /versions", f.answer(f.listVersions))
	mux.HandleFunc("GET /version/{version}/extensions/official", f.answer(f.listExtensions))
	mux.HandleFunc("GET /version/{version}/overlays/official", f.answer(f.listOverlays))
	mux.HandleFunc("GET /image/{schematic}/{version}/{path}", f.answer(f.serveImage))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})

	return mux
}

type factory struct {
	dir string

	mu    sync.Mutex
	known map[string]*schematic.Schematic
}

// Errors that determine the HTTP status.
var (
	errNotFound = errors.New("not found")
	errInvalid  = errors.New("invalid")
)

// statusError is a text for the client with one of the errors above.
type statusError struct {
	kind error
	text string
}

func (e *statusError) Error() string { return e.text }
func (e *statusError) Unwrap() error { return e.kind }

func notFound(format string, args ...any) error {
	return &statusError{kind: errNotFound, text: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &statusError{kind: errInvalid, text: fmt.Sprintf(format, args...)}
}

// answer turns errors into responses. It does not show internal errors to the client.
func (f *factory) answer(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch err := serve(w, r); {
		case err == nil, r.Context().Err() != nil:
		case errors.Is(err, errNotFound):
			http.Error(w, err.Error(), http.StatusNotFound)
		case errors.Is(err, errInvalid):
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			http.Error(w, "internal server error", http.StatusInternalServerError)
		}
	}
}

// mostPosted limits the size of a schematic, in bytes.
const mostPosted = 1 << 20

func (f *factory) createSchematic(w http.ResponseWriter, r *http.Request) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostPosted))
	if err != nil {
		return invalid("%s", err)
	}

	s, err := schematic.Unmarshal(raw)
	if err != nil {
		return invalid("%s", err)
	}

	id, err := f.put(s)
	if err != nil {
		return err
	}

	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)

	return json.NewEncoder(w).Encode(struct {
		ID string `json:"id"`
	}{id})
}

func (f *factory) put(s *schematic.Schematic) (string, error) {
	id, err := s.ID()
	if err != nil {
		return "", fmt.Errorf("compute the schematic's id: %w", err)
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	f.known[id] = s

	if f.dir == "" {
		return id, nil
	}

	raw, err := s.Marshal()
	if err != nil {
		return "", fmt.Errorf("write schematic %s: %w", id, err)
	}

	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", fmt.Errorf("write schematic %s: %w", id, err)
	}

	if err := os.WriteFile(filepath.Join(f.dir, id+".yaml"), raw, 0o600); err != nil {
		return "", fmt.Errorf("write schematic %s: %w", id, err)
	}

	return id, nil
}

// schematicID matches an ID. Nothing else is used as a file name.
var schematicID = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (f *factory) get(id string) (*schematic.Schematic, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if s, ok := f.known[id]; ok {
		return s, nil
	}

	if f.dir == "" || !schematicID.MatchString(id) {
		return nil, notFound("schematic ID %q not found", id)
	}

	raw, err := os.ReadFile(filepath.Join(f.dir, id+".yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound("schematic ID %q not found", id)
	}

	if err != nil {
		return nil, fmt.Errorf("read schematic %s: %w", id, err)
	}

	s, err := schematic.Unmarshal(raw)
	if err != nil {
		return nil, fmt.Errorf("read schematic %s: %w", id, err)
	}

	f.known[id] = s

	return s, nil
}

func (f *factory) listVersions(w http.ResponseWriter, _ *http.Request) error {
	return json.NewEncoder(w).Encode(versions())
}

func (f *factory) listExtensions(w http.ResponseWriter, r *http.Request) error {
	version, err := knownVersion(r.PathValue("version"))
	if err != nil {
		return err
	}

	return json.NewEncoder(w).Encode(extensions(version))
}

// listOverlays returns none: overlays are for single-board computers.
func (f *factory) listOverlays(w http.ResponseWriter, r *http.Request) error {
	if _, err := knownVersion(r.PathValue("version")); err != nil {
		return err
	}

	return json.NewEncoder(w).Encode([]client.OverlayInfo{})
}

// imagePath matches the only kind of image that the lab boots.
var imagePath = regexp.MustCompile(`^([a-z0-9-]+)-(amd64|arm64)\.iso$`)

func (f *factory) serveImage(w http.ResponseWriter, r *http.Request) error {
	s, err := f.get(r.PathValue("schematic"))
	if err != nil {
		return err
	}

	version, err := knownVersion(r.PathValue("version"))
	if err != nil {
		return err
	}

	path := r.PathValue("path")

	match := imagePath.FindStringSubmatch(path)
	if match == nil || match[1] != "nocloud" && match[1] != "metal" {
		return invalid("%q is not emulated: the lab serves nocloud-amd64.iso and its like", path)
	}

	for _, name := range s.Customization.SystemExtensions.OfficialExtensions {
		if !available(name) {
			return invalid("official extension %q is not available for Talos version %s", name, version)
		}
	}

	i := newImage(r.PathValue("schematic"), version, path, len(s.Customization.SystemExtensions.OfficialExtensions))
	w.Header().Set("Content-Length", fmt.Sprint(i.size))
	w.Header().Set("Content-Type", "application/vnd.efi.iso")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, path))

	if r.Method == http.MethodHead {
		return nil
	}

	// A disconnected client is not an error of the factory, and the header is already sent.
	_, _ = io.Copy(w, i)

	return nil
}

// knownVersion normalizes a version in a path, which may lack its "v".
func knownVersion(text string) (string, error) {
	version := "v" + strings.TrimPrefix(text, "v")

	for _, v := range versions() {
		if v == version {
			return version, nil
		}
	}

	return "", notFound("version %s is not available", strings.TrimPrefix(version, "v"))
}
