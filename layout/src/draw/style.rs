//! What all drawings share: text, colours, and the one script that folds.

/// Style sheet: dark on light, so that it prints, and colours that differ in lightness too.
pub const STYLE: &str = "\
text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#111}\
.title{font-weight:bold;font-size:16px}.note{fill:#444}.small{font-size:10px}\
.axis{font-size:10px;fill:#555}.line{stroke:#888;stroke-width:1;fill:none}\
rect{stroke:#333;stroke-width:.7}.scalar{fill:#cfe3f7}.pointer{fill:#d5efc9}.lock{fill:#f6d0d0}.struct{fill:#f8e3b4}\
.enum{fill:#e2d6f3}.bytes{fill:#e8e8e8}.hole{fill:url(#hole)}.padding{fill:url(#padding)}.unnamed{fill:url(#unnamed)}.plain{fill:#fff}\
.edge{fill:none;stroke:#555;stroke-width:1.2}.embeds{stroke:#b8860b;stroke-width:2}\
.fold{cursor:pointer}.fold:hover rect{stroke-width:2}\
@media print{.fold{cursor:auto}}";

/// Patterns for bytes between members and after them that hold nothing, and for bytes nothing is known about.
pub const PATTERNS: &str = "<defs>\
<pattern id=\"hole\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<rect width=\"6\" height=\"6\" style=\"fill:#fff;stroke:none\"/><path d=\"M0 0V6\" style=\"stroke:#c33;stroke-width:2\"/></pattern>\
<pattern id=\"padding\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">\
<rect width=\"6\" height=\"6\" style=\"fill:#fff;stroke:none\"/><path d=\"M0 0V6\" style=\"stroke:#999;stroke-width:1\"/></pattern>\
<pattern id=\"unnamed\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">\
<rect width=\"5\" height=\"5\" style=\"fill:#fff;stroke:none\"/><circle cx=\"2\" cy=\"2\" r=\".9\" style=\"fill:#888\"/></pattern>\
<marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
<path d=\"M0 0L8 4L0 8z\" style=\"fill:#555\"/></marker></defs>";

/// Folds a panel when a block or name in the list that stands for it, or its title, is clicked, and moves the others up.
/// Without scripts every panel stays open, and all are for printing.
pub const SCRIPT: &str = "<script><![CDATA[\n\
(function(){var all=[].slice.call(document.querySelectorAll('.panel'));\n\
function lay(open){var y=0;all.forEach(function(p){var off=!open&&p.getAttribute('data-off')==='1';\n\
p.setAttribute('transform','translate(0 '+y+')');p.querySelector('.body').style.display=off?'none':'';\n\
y+=off?34:+p.getAttribute('data-height');});}\n\
function flip(p){p.setAttribute('data-off',p.getAttribute('data-off')==='1'?'0':'1');lay(false);}\n\
window.addEventListener('beforeprint',function(){lay(true);});\n\
window.addEventListener('afterprint',function(){lay(false);});\n\
[].forEach.call(document.querySelectorAll('.fold'),function(f){f.addEventListener('click',function(e){\n\
if(String(window.getSelection&&window.getSelection()))return;\n\
var p=document.getElementById(f.getAttribute('data-panel'));if(p){e.preventDefault();flip(p);}});});})();\n\
]]></script>";

/// Text as XML wants it.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// A whole drawing of this size in pixels around `content`; it prints as one page of that size, which fits any paper.
#[must_use]
pub fn document(width: u64, height: u64, title: &str, content: &str, script: bool) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <title>{}</title>\n<style>@page{{size:{width}px {height}px;margin:0}}{STYLE}</style>\n{PATTERNS}\n\
         <rect width=\"{width}\" height=\"{height}\" style=\"fill:#fff;stroke:none\"/>\n{content}{}</svg>\n",
        escape(title),
        if script { SCRIPT } else { "" },
    )
}
