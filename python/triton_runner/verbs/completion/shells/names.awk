/^[ \t]*@/ { jit = jit || /jit([ \t(]|$)/; next }
/^[ \t]*def / { if (jit) { sub(/^[ \t]*def /, ""); sub(/[^A-Za-z0-9_].*/, ""); print } jit = 0 }
/tt\.func public @|^[^"]*\.entry / { sub(/.*(tt\.func public @|\.entry )/, ""); sub(/[^A-Za-z0-9_$].*/, ""); print }
