package storages

import (
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// urlMetadata is the result of a HEAD request.
type urlMetadata struct {
	Filename string `json:"filename,omitempty"`
	Size     int64  `json:"size,omitempty"`
	MimeType string `json:"mimetype,omitempty"`
}

// client returns the HTTP client for a download, with or without verification of certificates.
func (s *Service) client(verify bool) *http.Client {
	if verify {
		return s.downloads
	}

	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // asked for

	return &http.Client{Transport: transport}
}

// queryURL handles GET /nodes/{node}/query-url-metadata (pve-manager API2/Nodes.pm).
func (s *Service) queryURL(c *api.Call) (any, error) {
	if err := s.env.Wait(c.Ctx, pace.URLProbe); err != nil {
		return nil, err
	}

	request, err := http.NewRequestWithContext(c.Ctx, http.MethodHead, c.Params.Get("url"), nil)
	if err != nil {
		return nil, fmt.Errorf("invalid server response: '%w'", err)
	}

	request.Header.Set("User-Agent", "Proxmox VE")

	response, err := s.client(c.Params.Bool("verify-certificates", true)).Do(request)
	if err != nil {
		// LWP reports an unreachable server with its own status.
		return nil, fmt.Errorf("invalid server response: '500 Can't connect to %s (%w)'", request.URL.Host, rootCause(err))
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("invalid server response: '%s'", response.Status)
	}

	return describe(response), nil
}

func rootCause(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}

	return err
}

func describe(response *http.Response) urlMetadata {
	m := urlMetadata{Filename: path.Base(response.Request.URL.Path), Size: max(response.ContentLength, 0)}

	if _, params, err := mime.ParseMediaType(response.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		m.Filename = params["filename"]
	}

	m.MimeType, _, _ = strings.Cut(response.Header.Get("Content-Type"), ";")

	return m
}

// unsafeName matches the characters that Proxmox VE replaces in file names (pve-storage Storage.pm,
// normalize_content_filename).
var unsafeName = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)

func normalizeName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}

	return unsafeName.ReplaceAllString(name, "_")
}

// incoming is a file that is being stored.
type incoming struct {
	node, storage, dir, content, name string
}

// path returns the final path of the file.
func (in incoming) path() string { return path.Join(in.dir, storage.FolderOf(in.content), in.name) }

// id returns the ID of the volume that the file becomes.
func (in incoming) id() string { return in.storage + ":" + in.content + "/" + in.name }

// present reports whether a file of that name already exists.
func (s *Service) present(in incoming) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(in.storage, in.node)
	if err != nil {
		return false
	}

	_, ok := st.Find(in.node, in.id())

	return ok
}

// checkIncoming runs the checks of downloads and uploads (pve-storage API2/Storage/Status.pm).
func (s *Service) checkIncoming(c *api.Call, notFileBased, notContent string) (incoming, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	in := incoming{node: c.Node, storage: c.Params.Get("storage"), name: normalizeName(c.Params.Get("filename"))}

	st, err := s.on(in.storage, in.node)
	if err != nil {
		return in, err
	}

	if !st.Type.FileBased() {
		return in, fmt.Errorf(notFileBased, st.Type)
	}

	in.dir = st.Path

	content := c.Params.Get("content")
	if !st.Holds(content) {
		return in, fmt.Errorf(notContent, in.storage, content)
	}

	in.content = content

	return in, in.checkName()
}

// checkName checks the name of a file by its content type. The archive and the image of several disks are not emulated.
func (in incoming) checkName() error {
	switch in.content {
	case storage.ISO:
		if !storage.IsISOName(in.name) {
			return schema.BadParam("filename", "wrong file extension")
		}
	case storage.Template:
		if !storage.IsTemplateName(in.name) {
			return schema.BadParam("filename", "wrong file extension")
		}
	case storage.Import:
		switch format, ok := storage.ImportFormat(in.name); {
		case !ok:
			return schema.BadParam("filename", "invalid filename or wrong extension")
		case format != formatQcow2 && format != formatRaw:
			return fmt.Errorf("images of format '%s' are not emulated", format)
		}
	default:
		return fmt.Errorf("content type '%s' is not emulated", in.content)
	}

	return nil
}

// downloadURL handles POST …/storage/{storage}/download-url. The lab downloads the file, and keeps its name and size.
func (s *Service) downloadURL(c *api.Call) (any, error) {
	in, err := s.checkIncoming(c, "can't upload to storage type '%s', not a file based storage!",
		"storage '%s' is not configured for content-type '%s'")
	if err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, "download", encodeTaskID(in.name), c.Identity, 0, func(w *task.Worker) error {
		return s.download(w, c.Params, in)
	})
}

// encodeTaskID encodes a file name for a UPID (pve-common Tools.pm, encode_text).
func encodeTaskID(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "+", "%20") }

// download is the worker (pve-common Tools.pm, download_file_from_url).
func (s *Service) download(w *task.Worker, params schema.Params, in incoming) error {
	source, target := params.Get("url"), in.path()
	if params.Has("compression") && in.content != storage.ISO {
		return fmt.Errorf("decompression not supported for %s", in.content)
	}

	w.Print("downloading %s to %s", source, target)

	if there, err := s.checkPresent(w, params, in); there || err != nil {
		return err
	}

	if err := s.env.Faults.Step(w.Ctx, w.Info, task.StepDownload); err != nil {
		return err
	}

	if err := s.env.Wait(w.Ctx, pace.ISODownload); err != nil {
		return err
	}

	got, err := s.fetch(w.Ctx, params)
	if err != nil {
		return err
	}

	virtual, err := got.diskSize(in)
	if err != nil {
		return err
	}

	if params.Has("compression") {
		got.sums = nil // they are those of the compressed file, which is not kept
	}

	if err := s.locked(func() error { return s.store(in, got, virtual) }); err != nil {
		return fmt.Errorf("download failed: %w", err)
	}

	w.Print("download of '%s' to '%s' finished", source, target)

	return nil
}

// store records a file in its storage.
func (s *Service) store(in incoming, got fetched, virtual uint64) error {
	st, err := s.on(in.storage, in.node)
	if err != nil {
		return err
	}

	identity, err := s.env.Random.UUID(0, in.content)
	if err != nil {
		return err
	}

	_, err = st.Put(in.node, storage.File{
		Content: in.content, Name: in.name, Format: in.format(), Bytes: got.bytes, Virtual: virtual, Identity: identity,
		Created: s.env.Now().Unix(), Checksums: got.sums, Origin: got.origin,
	})
	s.env.Changed()

	return err
}

// uploadFile handles POST …/storage/{storage}/upload. An existing file is overwritten.
func (s *Service) uploadFile(c *api.Call) (any, error) {
	in, err := s.checkIncoming(c, "can't upload to storage type '%s'", "storage '%s' does not support '%s' content")
	if err != nil {
		return nil, err
	}

	if in.content != storage.ISO {
		return nil, fmt.Errorf("uploads of content type '%s' are not emulated", in.content)
	}

	return s.env.Tasks.Fork(c.Node, "imgcopy", "", c.Identity, 0, func(w *task.Worker) error {
		w.Print("file size is: %d", c.Upload)

		if err := s.env.Wait(w.Ctx, pace.VolumeRemove); err != nil {
			return err
		}

		if err := s.locked(func() error { return s.store(in, fetched{bytes: c.Upload}, 0) }); err != nil {
			return fmt.Errorf("import failed: %w", err)
		}

		w.Print("finished file import successfully")

		return nil
	})
}
