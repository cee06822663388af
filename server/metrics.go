package server

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"hark/batcher"
	"hark/engine"
)

// metrics are all that the server counts, in a registry of its own. Label values come from closed sets: the routes,
// methods and statuses of the server, its error codes, the lanes, the models it serves.
type metrics struct {
	registry *prometheus.Registry

	requests       *prometheus.CounterVec   // route, method, status
	requestSeconds *prometheus.HistogramVec // route
	inFlight       prometheus.Gauge
	pending        prometheus.Gauge
	rejections     *prometheus.CounterVec // code
	cancellations  prometheus.Counter
	panics         prometheus.Counter

	uploadBytes    prometheus.Counter
	spooled        prometheus.Counter
	audioSeconds   *prometheus.CounterVec // model, lane
	skippedSeconds *prometheus.CounterVec // model
	decodeSeconds  *prometheus.HistogramVec

	queueSeconds   *prometheus.HistogramVec // model, lane
	computeSeconds *prometheus.HistogramVec // model, lane
	turnsWaited    *prometheus.HistogramVec // lane
	batchWindows   *prometheus.HistogramVec // model, lane
	batchFill      *prometheus.HistogramVec // model, lane
	batchSeconds   *prometheus.HistogramVec // model, lane
	batchAudio     *prometheus.CounterVec   // model, lane
	failedWindows  *prometheus.CounterVec   // model
	turnSeconds    *prometheus.HistogramVec // lane
	owed           *prometheus.GaugeVec     // model
	costCap        *prometheus.GaugeVec     // model
	promoted       *prometheus.CounterVec   // model
	joined         *prometheus.CounterVec   // model
	backfilled     *prometheus.CounterVec   // model

	liveSessions     prometheus.Gauge
	liveEnded        *prometheus.CounterVec // reason
	liveAudioSeconds prometheus.Counter
	liveTurns        *prometheus.CounterVec // outcome
	livePartials     *prometheus.CounterVec // outcome
	liveFirstSeconds prometheus.Observer
	liveFinalSeconds prometheus.Observer

	ready prometheus.Gauge

	jobMetrics
}

// Waits and runs span from a clip on an idle GPU to hours of audio on a CPU.
var secondsBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}

// Waits in live sessions are felt from a tenth of a second on.
var liveBuckets = []float64{.05, .1, .2, .3, .4, .5, .6, .8, 1, 1.25, 1.5, 2, 3, 5, 10, 30, 60}

// newMetrics makes the metrics; loaded tells which models are loaded, at each scrape.
func newMetrics(loaded func() []engine.ModelInfo) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}

	m.requests = counter(m, "http_requests_total", "Requests answered.", "route", "method", "status")
	m.requestSeconds = histogram(m, "http_request_seconds",
		"Time from a request's header to its answer's end.", secondsBuckets, "route")
	m.inFlight = gauge(m, "http_requests_in_flight", "Requests under way.").WithLabelValues()
	m.pending = gauge(m, "transcriptions_pending", "Transcriptions under way, uploads included.").WithLabelValues()
	m.rejections = counter(m, "rejections_total", "Requests answered with an error, by its code.", "code")
	m.cancellations = counter(m, "cancellations_total", "Requests whose client hung up.").WithLabelValues()
	m.panics = counter(m, "panics_total", "Handlers that panicked.").WithLabelValues()

	m.uploadBytes = counter(m, "upload_bytes_total", "Bytes of request bodies read.").WithLabelValues()
	m.spooled = counter(m, "uploads_spooled_total", "Uploads that went to a file.").WithLabelValues()
	m.audioSeconds = counter(m, "audio_seconds_total", "Audio transcribed, silence included.", "model", "lane")
	m.skippedSeconds = counter(m, "audio_skipped_seconds_total", "Audio taken for silence and not run.", "model")
	m.decodeSeconds = histogram(m, "decode_seconds",
		"Time to decode an upload and cut it, waiting for a place included.", secondsBuckets, "lane")

	m.queueSeconds = histogram(m, "queue_seconds", "Wait from arrival in a lane to the first batch.",
		secondsBuckets, "model", "lane")
	m.computeSeconds = histogram(m, "compute_seconds", "Time that batches with a request's windows ran.",
		secondsBuckets, "model", "lane")
	m.turnsWaited = histogram(m, "turns_waited", "Turns of either lane that a request saw before its own.",
		[]float64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55}, "lane")
	m.batchWindows = histogram(m, "batch_windows", "Windows in a batch.",
		[]float64{1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 64}, "model", "lane")
	m.batchFill = histogram(m, "batch_fill_ratio", "Windows in a batch over its places.",
		[]float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, 1}, "model", "lane")
	m.batchSeconds = histogram(m, "batch_seconds", "Time that a batch ran.", secondsBuckets, "model", "lane")
	m.batchAudio = counter(m, "batch_cost_seconds_total",
		"Cost of the requests in all batches, in seconds of audio, each counted whole.", "model", "lane")
	m.failedWindows = counter(m, "failed_windows_total",
		"Windows that ended with an error, or before their end as their client had hung up.", "model")
	m.turnSeconds = histogram(m, "turn_seconds", "Length of a lane's turn.", secondsBuckets, "lane")
	m.owed = gauge(m, "owed_clips", "Clips that were owed a place when the last turn began.", "model")
	m.costCap = gauge(m, "cost_cap_seconds", "Most audio that a clip turn takes.", "model")
	m.promoted = counter(m, "promoted_clips_total",
		"Clips that went before cheaper ones because of their age.", "model")
	m.joined = counter(m, "joined_windows_total", "Windows that joined a batch while it ran.", "model")
	m.backfilled = counter(m, "backfilled_windows_total", "Windows that ran in the other lane's batch.", "model")

	m.liveSessions = gauge(m, "live_sessions", "Live sessions that are open.").WithLabelValues()
	m.liveEnded = counter(m, "live_sessions_ended_total", "Live sessions that ended, by what ended them.", "reason")
	m.liveAudioSeconds = counter(m, "live_audio_seconds_total", "Sound that live sessions were sent.").WithLabelValues()
	m.liveTurns = counter(m, "live_turns_total", "Turns of live sessions, by what became of them.", "outcome")
	m.livePartials = counter(m, "live_partials_total",
		"Transcriptions of unfinished turns, by whether they had text to show.", "outcome")
	m.liveFirstSeconds = histogram(m, "live_first_text_seconds",
		"Time from the beginning of a turn's speech to its first text.", liveBuckets).WithLabelValues()
	m.liveFinalSeconds = histogram(m, "live_final_seconds", "Time from the end of a turn to its transcript.",
		liveBuckets).WithLabelValues()

	m.ready = gauge(m, "ready", "1 once every model is warm, until the server stops.").WithLabelValues()
	m.jobMetrics = newJobMetrics(m)
	m.registry.MustRegister(
		loadedCollector{loaded},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

const namespace = "hark"

func counter(m *metrics, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func gauge(m *metrics, name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(g)
	return g
}

func histogram(m *metrics, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help,
		Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// loadedCollector shows which models are loaded, and where.
type loadedCollector struct{ loaded func() []engine.ModelInfo }

var (
	loadedDesc = prometheus.NewDesc(namespace+"_model_loaded", "1 for each model that is loaded, with its device.",
		[]string{"model", "device"}, nil)
	weightDesc = prometheus.NewDesc(namespace+"_model_weight_bytes", "Bytes of a loaded model's weights on its device.",
		[]string{"model", "device"}, nil)
)

func (c loadedCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- loadedDesc
	ch <- weightDesc
}

func (c loadedCollector) Collect(ch chan<- prometheus.Metric) {
	for _, info := range c.loaded() {
		ch <- prometheus.MustNewConstMetric(loadedDesc, prometheus.GaugeValue, 1, info.Name, info.Device)
		ch <- prometheus.MustNewConstMetric(weightDesc, prometheus.GaugeValue,
			float64(info.WeightBytes), info.Name, info.Device)
	}
}

func (m *metrics) countRequest(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, knownMethod(method), strconv.Itoa(status)).Inc()
	m.requestSeconds.WithLabelValues(route).Observe(took.Seconds())
}

// knownMethod keeps a client from inventing label values.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

func (m *metrics) countError(e *apiError) {
	if e.status == statusClientGone {
		m.cancellations.Inc()
		return
	}
	m.rejections.WithLabelValues(e.code).Inc()
}

func (m *metrics) countTranscript(t *Transcript) {
	m.audioSeconds.WithLabelValues(t.Model.Name, t.Lane.String()).Add(t.Duration)
	m.skippedSeconds.WithLabelValues(t.Model.Name).Add(max(0, t.Duration-t.Heard))
	m.decodeSeconds.WithLabelValues(t.Lane.String()).Observe(t.Decode.Seconds())
}

// observer is told about one model's batches.
func (m *metrics) observer(info engine.ModelInfo) batcher.Observer {
	return &batchObserver{m, info.Name}
}

type batchObserver struct {
	m     *metrics
	model string
}

func (o *batchObserver) RequestDone(e batcher.RequestEvent) {
	if e.Stats.Batches == 0 {
		return
	}
	lane := e.Lane.String()
	o.m.queueSeconds.WithLabelValues(o.model, lane).Observe(e.Stats.Queue.Seconds())
	o.m.computeSeconds.WithLabelValues(o.model, lane).Observe(e.Stats.Run.Seconds())
	o.m.turnsWaited.WithLabelValues(lane).Observe(float64(e.Stats.TurnsWaited))
}

func (o *batchObserver) BatchDone(e batcher.BatchEvent) {
	lane := e.Lane.String()
	o.m.batchWindows.WithLabelValues(o.model, lane).Observe(float64(e.Windows))
	o.m.batchFill.WithLabelValues(o.model, lane).Observe(float64(e.Windows-e.Added) / float64(e.MaxBatch))
	o.m.batchSeconds.WithLabelValues(o.model, lane).Observe(e.Run.Seconds())
	o.m.batchAudio.WithLabelValues(o.model, lane).Add(float64(e.CostMillis) / 1000)
	o.m.failedWindows.WithLabelValues(o.model).Add(float64(e.Failed))
	o.m.joined.WithLabelValues(o.model).Add(float64(e.Added))
	o.m.backfilled.WithLabelValues(o.model).Add(float64(e.Backfilled))
}

func (o *batchObserver) TurnDone(e batcher.TurnEvent) {
	o.m.turnSeconds.WithLabelValues(e.Lane.String()).Observe(e.Length.Seconds())
	o.m.owed.WithLabelValues(o.model).Set(float64(e.Owed))
	o.m.promoted.WithLabelValues(o.model).Add(float64(e.Promoted))
	if e.Lane == batcher.Clips {
		o.m.costCap.WithLabelValues(o.model).Set(float64(e.CapMillis) / 1000)
	}
}
