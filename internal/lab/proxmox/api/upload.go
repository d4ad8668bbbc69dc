package api

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// mostField limits a field of an upload other than the file, in bytes.
const mostField = 64 * 1024

var uploadPath = regexp.MustCompile(`^/nodes/[^/]+/storage/[^/]+/upload$`)

// IsUpload reports whether a request contains a file.
func IsUpload(verb, path string) bool { return verb == http.MethodPost && uploadPath.MatchString(path) }

// readUpload reads a multipart body. Its fields become parameters; only name and size of the file are kept (AnyEvent.pm,
// file_upload_multipart).
func readUpload(r *http.Request) (schema.Params, uint64, error) {
	if r.ContentLength <= 0 {
		return nil, 0, &StatusError{
			Status: http.StatusNotImplemented, Message: "upload without content length header not supported", Plain: true,
		}
	}

	reader, err := r.MultipartReader()
	if err != nil {
		message := fmt.Sprintf("upload 'Content-Type '%s' not implemented", r.Header.Get("Content-Type"))
		return nil, 0, &StatusError{Status: statusUnknownContent, Message: message, Plain: true}
	}

	params := schema.Params{}

	var size uint64

	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return params, size, nil
		}

		if err == nil {
			err = readPart(part, params, &size)
		}

		if err != nil {
			return nil, 0, fmt.Errorf("read the upload: %w", err)
		}
	}
}

// readPart reads a field into the parameters, or the size of a file.
func readPart(part *multipart.Part, params schema.Params, size *uint64) error {
	if part.FileName() == "" {
		value, err := io.ReadAll(io.LimitReader(part, mostField))
		params[part.FormName()] = schema.Scalar(string(value))

		return err
	}

	written, err := io.Copy(io.Discard, part)
	*size = uint64(written)
	params["filename"] = schema.Scalar(part.FileName())

	return err
}
