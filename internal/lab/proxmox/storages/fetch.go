package storages

import (
	"bytes"
	"context"
	"crypto/md5"  //nolint:gosec // an algorithm that the API offers
	"crypto/sha1" //nolint:gosec // an algorithm that the API offers
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// StandIn is what the lab has in the place of a file on the internet. Its content is not stored, so its checksum is the one that
// its description gives for the original.
type StandIn struct {
	// Bytes is the length of the file, Virtual the size of the disk in an image.
	Bytes, Virtual uint64
	// Checksum is the hexadecimal checksum of the original by Algorithm, such as "sha512". Another algorithm gives "" and so a
	// mismatch.
	Checksum, Algorithm string
}

// fetched is a file that was downloaded.
type fetched struct {
	bytes uint64
	// head is the beginning of the file, sums are the checksums that were computed, by algorithm.
	head []byte
	sums map[string]string
	// virtual is the size of the disk of a stand-in, origin the name of the file that it stands in for.
	virtual uint64
	origin  string
}

// checkPresent reports whether the file is there already. With a checksum Proxmox VE keeps a file that has it, and refuses
// another one (pve-common Tools.pm, download_file_from_url).
func (s *Service) checkPresent(w *task.Worker, params schema.Params, in incoming) (bool, error) {
	expected, algorithm := strings.ToLower(params.Get("checksum")), params.Get("checksum-algorithm")

	s.mu.Lock()
	defer s.mu.Unlock()

	st, err := s.on(in.storage, in.node)
	if err != nil {
		return false, err
	}

	v, there := st.Find(in.node, in.id())

	switch {
	case !there:
		return false, nil
	case expected == "":
		return true, fmt.Errorf("refusing to override existing file '%s'", in.path())
	case v.Checksums[algorithm] == expected:
		w.Print("OK, got correct file already, no need to download")
		return true, nil
	default:
		return true, fmt.Errorf("mismatch (got '%s' != expect '%s'), aborting", v.Checksums[algorithm], params.Get("checksum"))
	}
}

// fetch reads the file and verifies its checksum.
func (s *Service) fetch(ctx context.Context, params schema.Params) (fetched, error) {
	algorithm := params.Get("checksum-algorithm")

	got, err := s.open(ctx, params)
	if err != nil {
		return got, err
	}

	expected := strings.ToLower(params.Get("checksum"))
	if sum := got.sums[algorithm]; expected != "" && sum != expected {
		return got, fmt.Errorf("checksum mismatch: got '%s' != expect '%s'", sum, params.Get("checksum"))
	}

	return got, nil
}

// open returns the stand-in of a file on the internet, or downloads it.
func (s *Service) open(ctx context.Context, params schema.Params) (fetched, error) {
	if there, ok := s.standIns(params.Get("url")); ok {
		return fetched{
			bytes: there.Bytes, virtual: there.Virtual, origin: path.Base(params.Get("url")), sums: map[string]string{there.Algorithm: strings.ToLower(there.Checksum)},
		}, nil
	}

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, params.Get("url"), nil)
	if err != nil {
		return fetched{}, fmt.Errorf("download failed: %w", err)
	}

	response, err := s.client(params.Bool("verify-certificates", true)).Do(request)
	if err != nil {
		return fetched{}, fmt.Errorf("download failed: %w", err)
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		// wget's exit code for a server's error (wget(1), exit status).
		return fetched{}, fmt.Errorf("download failed: exit code 8")
	}

	return read(response.Body)
}

// read reads a file to its end. It computes every checksum, since a later download may ask for any of them.
func read(body io.Reader) (fetched, error) {
	hashes := map[string]hash.Hash{
		"md5": md5.New(), "sha1": sha1.New(), "sha224": sha256.New224(), "sha256": sha256.New(), "sha384": sha512.New384(), //nolint:gosec // see the imports
		"sha512": sha512.New(),
	}

	writers := make([]io.Writer, 0, len(hashes))
	for _, h := range hashes {
		writers = append(writers, h)
	}

	head := make([]byte, qcow2Header)

	n, err := io.ReadFull(body, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return fetched{}, fmt.Errorf("download failed: %w", err)
	}

	got := fetched{head: head[:n], sums: map[string]string{}}

	size, err := io.Copy(io.MultiWriter(writers...), io.MultiReader(bytes.NewReader(got.head), body))
	if err != nil {
		return fetched{}, fmt.Errorf("download failed: %w", err)
	}

	got.bytes = uint64(size)
	for algorithm, h := range hashes {
		got.sums[algorithm] = hex.EncodeToString(h.Sum(nil))
	}

	return got, nil
}

// The formats of disk images that the lab reads.
const (
	formatQcow2 = "qcow2"
	formatRaw   = "raw"
)

// format returns the format of the file in lists.
func (in incoming) format() string {
	switch in.content {
	case storage.Template:
		return storage.TemplateFormat(in.name)
	case storage.Import:
		format, _ := storage.ImportFormat(in.name)
		return format
	default:
		return "iso"
	}
}

// qcow2Header is the length of the part of a qcow2 header that the lab reads: magic, version, offset of the name of the backing
// file, its length, size of a cluster, and size of the disk (QEMU, docs/interop/qcow2.rst).
const qcow2Header = 32

// diskSize returns the size of the disk in an image, 0 for another file. A disk image may not refer to another file (pve-storage
// Plugin.pm, file_size_info for untrusted images).
func (got fetched) diskSize(in incoming) (uint64, error) {
	switch {
	case in.content != storage.Import:
		return 0, nil
	case got.virtual > 0:
		return got.virtual, nil
	case in.format() == formatRaw:
		return got.bytes, nil
	case len(got.head) < qcow2Header || !bytes.HasPrefix(got.head, []byte("QFI\xfb")):
		return 0, fmt.Errorf("failed to query file information with qemu-img")
	case binary.BigEndian.Uint64(got.head[8:]) != 0:
		return 0, fmt.Errorf("backing file not allowed for untrusted image '%s'!", in.path())
	default:
		return binary.BigEndian.Uint64(got.head[24:]), nil
	}
}
