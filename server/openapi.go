package server

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"
)

// openAPISource is the document as it is written, for people.
//
//go:embed openapi/openapi.yaml
var openAPISource []byte

// openAPI is the document as it is served, for programs.
var openAPI = sync.OnceValue(func() []byte {
	document, err := parseOpenAPI(openAPISource)
	if err != nil { // it is part of the program
		panic(err)
	}
	return document
})

// parseOpenAPI turns the document into JSON. What it repeats by aliases is written out.
func parseOpenAPI(source []byte) ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(source, &document); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	delete(document["components"].(map[string]any), "x-refusals")
	return json.Marshal(document)
}

// openAPIDocument answers GET /openapi.json.
func (s *Server) openAPIDocument(w http.ResponseWriter, r *http.Request) {
	s.write(w, http.StatusOK, "application/json", openAPI())
}
