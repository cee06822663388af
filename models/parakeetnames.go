package models

import "strings"

// hfModules are the names of modules that differ, transformers' and NeMo's, each
// with the dot that ends it.
var hfModules = []struct{ hf, nemo string }{
	{"encoder.subsampling.layers.", "encoder.pre_encode.conv."},
	{"encoder.subsampling.linear.", "encoder.pre_encode.out."},
	{"decoder.embedding.", "decoder.prediction.embed."},
	{"decoder.lstm.", "decoder.prediction.dec_rnn.lstm."},
	{"decoder.decoder_projector.", "joint.pred."},
	{"encoder_projector.", "joint.enc."},
	{"joint.head.", "joint.joint_net.2."},
}

// hfLayerParts are the same within a block of the encoder.
var hfLayerParts = []struct{ hf, nemo string }{
	{"self_attn.q_proj.", "self_attn.linear_q."},
	{"self_attn.k_proj.", "self_attn.linear_k."},
	{"self_attn.v_proj.", "self_attn.linear_v."},
	{"self_attn.o_proj.", "self_attn.linear_out."},
	{"self_attn.relative_k_proj.", "self_attn.linear_pos."},
	{"self_attn.bias_u", "self_attn.pos_bias_u"},
	{"self_attn.bias_v", "self_attn.pos_bias_v"},
	{"conv.norm.", "conv.batch_norm."},
}

// nemoName returns NeMo's name for a tensor of transformers' form. Names that
// are the same in both, and unknown ones, stay.
func nemoName(hf string) string {
	for _, m := range hfModules {
		if rest, ok := strings.CutPrefix(hf, m.hf); ok {
			return m.nemo + rest
		}
	}
	layer, part, ok := cutLayer(hf)
	if !ok {
		return hf
	}
	for _, p := range hfLayerParts {
		if rest, ok := strings.CutPrefix(part, p.hf); ok {
			return layer + p.nemo + rest
		}
	}
	return hf
}

// cutLayer splits encoder.layers.7.rest after the number.
func cutLayer(name string) (layer, part string, ok bool) {
	const blocks = "encoder.layers."
	rest, ok := strings.CutPrefix(name, blocks)
	if !ok {
		return "", "", false
	}
	number, part, ok := strings.Cut(rest, ".")
	return blocks + number + ".", part, ok
}
