package s3test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Refuse answers a request, or reports false to let it through.
type Refuse func(http.ResponseWriter, *http.Request) bool

// Answer writes an error of S3: status and XML text.
func Answer(w http.ResponseWriter, status int, text string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, err := w.Write([]byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + text))
	return err == nil
}

// Before puts a server that refuses some requests before the one of [Start] until the test ends, and returns the URL of the bucket there.
// It is started with start, with TLS or without.
func Before(t *testing.T, at string, refuse Refuse, start func(*httptest.Server)) string {
	t.Helper()
	parsed, err := url.Parse(at)
	require.NoError(t, err)
	query := parsed.Query()
	behind, err := url.Parse(query.Get("endpoint"))
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(behind)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !refuse(w, r) {
			unchunk(r)
			proxy.ServeHTTP(w, r)
		}
	}))
	start(front)
	t.Cleanup(front.Close)
	return "s3://" + parsed.Host + "?region=" + query.Get("region") + "&use_path_style=true&endpoint=" + front.URL
}

// unchunk decodes a body whose checksum follows it, which the server behind does not know (Amazon S3 User Guide, Signature calculations for
// trailing headers): its chunks have the form of those of HTTP.
func unchunk(r *http.Request) {
	if r.Header.Get("X-Amz-Content-Sha256") != "STREAMING-UNSIGNED-PAYLOAD-TRAILER" {
		return
	}
	length, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
	if err != nil {
		return // the server behind refuses it
	}
	for _, name := range []string{"Content-Encoding", "X-Amz-Trailer", "X-Amz-Decoded-Content-Length"} {
		r.Header.Del(name)
	}
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	r.Body, r.ContentLength = io.NopCloser(httputil.NewChunkedReader(r.Body)), length
	r.Header.Set("Content-Length", strconv.FormatInt(length, 10))
}
