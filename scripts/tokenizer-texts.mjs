// Prints COUNT texts, one JSON string a line, the same in every run: words, code,
// numbers, white space, contractions and characters of many scripts, also such that no
// text would hold beside each other.
//
//	node scripts/tokenizer-texts.mjs COUNT
const count = Number(process.argv[2])
let seed = 1
const rnd = n => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return Math.floor((seed >>> 8) / 16777216 * n) }
const pick = list => list[rnd(list.length)]
const words = 'the server answered quickly Hello World NaN tokens HTTPServer camelCase snake_case naïve café Straße Привет мир 你好 世界 こんにちは カタカナ 안녕 مرحبا שלום नमस्ते สวัสดี ελληνικά 𝔘𝔫𝔦 ﬁ ①②③ Ⅷ e\u0301 a\u0308 👨‍👩‍👧 😀🎉 don\'t I\'LL we\'ve it\'s O\'Brien \'ſ <|im_start|> <s> </s> [INST] <think> <|endoftext|> <bos> 3.14159 1234567 0x7fff 2026-11-29 +1-555 ١٢٣ ½ http://a.b/c?d=e&f #tag @user $100 50% a/b\\c (x) [y] {z} -> => != === // /* */ ... ，。！ ¿ « » — – “q” \u200b \u00ad \ufeff \u00a0 \u2003'.split(' ')
const spaces = [' ', ' ', ' ', '', '  ', '   ', '\n', '\n\n', '\r\n', '\t', ' \n ', '\n\t', '\u00a0', '\u3000', '']
const ranges = [[0x20, 0x7e], [0xa0, 0x24f], [0x300, 0x36f], [0x370, 0x3ff], [0x400, 0x4ff], [0x590, 0x5ff], [0x600, 0x6ff], [0x900, 0x97f], [0xe00, 0xe7f], [0x1100, 0x11ff], [0x2000, 0x206f], [0x2100, 0x214f], [0x3040, 0x30ff], [0x4e00, 0x9fff], [0xac00, 0xd7a3], [0xfb00, 0xfb4f], [0xff00, 0xffef], [0x1d400, 0x1d4ff], [0x1f300, 0x1f6ff]]
const char = () => { const [a, b] = pick(ranges); return String.fromCodePoint(a + rnd(b - a + 1)) }
for (let i = 0; i < count; i++) {
  let text = ''
  for (let n = 1 + rnd(12); n > 0; n--) text += (rnd(4) ? pick(words) : char() + (rnd(2) ? char() : '')) + pick(spaces)
  if (rnd(50) === 0) text += pick(['a', ' ', '\n', '9', '你', '!']).repeat(1 + rnd(300))
  console.log(JSON.stringify(text))
}
