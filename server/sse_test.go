package server

import (
	"net/http/httptest"
	"testing"
)

func TestEventStream(t *testing.T) {
	s := newTestServer(t, nil)
	w := httptest.NewRecorder()
	e := s.openStream(w)
	for _, err := range []error{
		e.send("", "", []byte("{\"a\":1}\n")),
		e.send("7", "done", []byte("one\ntwo")),
		e.keepAlive(),
		e.send("", "", []byte("[DONE]")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "data: {\"a\":1}\n\nid: 7\nevent: done\ndata: one\ndata: two\n\n: keep-alive\n\ndata: [DONE]\n\n"
	if got := w.Body.String(); got != want || !w.Flushed || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %q with %v\nwant %q", got, w.Header(), want)
	}
}
